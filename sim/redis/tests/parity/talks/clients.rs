//! CLIENT, AUTH, RESET.

use super::check;

#[test]
fn kill() {
    check(&[
        "2: PING
         CLIENT KILL ID $2
         2: PING
         CLIENT KILL ID $1
         CLIENT KILL ID $1 SKIPME no",
        "2: PING
         CLIENT KILL
         CLIENT KILL x
         CLIENT KILL ID x
         CLIENT KILL ID 0
         CLIENT KILL ID 999999
         CLIENT KILL TYPE foo
         CLIENT KILL USER foo
         CLIENT KILL SKIPME maybe
         CLIENT KILL FOO x
         CLIENT KILL ID
         CLIENT KILL ID 1 TYPE
         CLIENT KILL ADDR 1:1
         CLIENT KILL LADDR x SKIPME no
         CLIENT KILL TYPE replica
         CLIENT KILL ID $2 USER default TYPE normal
         CLIENT KILL ID $1 TYPE pubsub SKIPME no",
        "2: WATCH k
         2: MULTI
         2: SET k 1
         MULTI
         CLIENT KILL ID $2
         CLIENT KILL ID $1 SKIPME no
         PING
         EXEC",
    ]);
}

#[test]
fn list() {
    check(&["CLIENT LIST TYPE foo
         CLIENT LIST ID 999999
         CLIENT LIST ID x
         CLIENT LIST FOO
         CLIENT LIST TYPE pubsub
         CLIENT LIST TYPE
         CLIENT LIST ID
         ~CLIENT LIST
         ~CLIENT INFO
         CLIENT INFO x
         ~HELLO 3
         ~CLIENT LIST
         ~CLIENT INFO
         CLIENT LIST ID 999999
         CLIENT NO-EVICT on
         CLIENT NO-EVICT x
         CLIENT NO-TOUCH on
         CLIENT GETREDIR x
         CLIENT REPLY foo
         CLIENT REPLY"]);
}

#[test]
fn pause() {
    check(&[
        "CLIENT PAUSE 300 WRITE
         2: GET k
         2: SET k v
         2: GET k
         3: PUBLISH a x
         4: EVAL \"return 1\" 0
         5: MULTI
         5: GET k
         5: EXEC
         5: MULTI
         5: SET k w
         NOPE
         SET
         sleep 600
         2: GET k",
        "CLIENT PAUSE 100000 WRITE
         2: SET k v
         3: GET k
         CLIENT UNPAUSE
         3: GET k",
        "2: PING
         CLIENT PAUSE 100
         sleep 400
         2: PING",
        "CLIENT PAUSE
         CLIENT PAUSE x
         CLIENT PAUSE -1
         CLIENT PAUSE 1 FOO
         CLIENT PAUSE 1 WRITE x
         CLIENT PAUSE 0
         CLIENT UNPAUSE
         CLIENT UNPAUSE x",
        "2: MULTI
         2: GET a
         CLIENT PAUSE 200 WRITE
         2: EXEC
         3: MULTI
         3: SET a 1
         sleep 500
         3: EXEC",
        "3: BLPOP a 0
         CLIENT PAUSE 200 WRITE
         2: RPUSH a x
         sleep 500",
    ]);
}

#[test]
fn reply() {
    check(&[
        "CLIENT REPLY SKIP
         PING
         PING
         CLIENT REPLY OFF
         PING
         NOPE
         CLIENT REPLY SKIP
         PING
         CLIENT REPLY ON
         PING
         CLIENT REPLY OFF
         RESET
         PING",
        "CLIENT REPLY OFF
         SUBSCRIBE a
         2: PUBLISH a x
         CLIENT REPLY ON",
    ]);
}

#[test]
fn reset_and_quit() {
    check(&[
        "~HELLO 3 SETNAME me
         CLIENT TRACKING on
         MULTI
         RESET
         CLIENT GETNAME
         CLIENT TRACKINGINFO
         EXEC
         QUIT",
        "MULTI
         QUIT",
    ]);
}

#[test]
fn passwords() {
    check(&["AUTH
         AUTH x
         AUTH default x
         AUTH foo x
         AUTH a b c
         ACL WHOAMI
         ACL LIST
         ACL USERS
         ACL GETUSER default
         ACL GETUSER foo
         2: PING
         CONFIG SET requirepass secret
         CONFIG GET requirepass
         2: PING
         3: PING
         3: NOPE
         3: GET
         3: MULTI
         3: EXEC
         3: HELLO
         3: HELLO 3
         3: HELLO 3 AUTH default foo
         3: HELLO 3 AUTH foo secret
         3: AUTH foo
         3: AUTH default foo
         3: AUTH secret
         3: GET k
         3: RESET
         3: GET k
         ~3: HELLO 3 AUTH default secret SETNAME x
         3: CLIENT GETNAME
         ACL LIST
         ACL GETUSER default
         ~HELLO 3
         ACL GETUSER default
         4: QUIT
         5: SUBSCRIBE a
         5: RESET"]);
}
