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

/// Whether a script waits depends on the flags that it declares, also in a transaction.
#[test]
fn a_pause_of_writes_lets_scripts_through_that_do_not_write() {
    const PLAIN: &str = "return 1";
    const WRITES: &str = "#!lua\\nreturn 1";
    const READS: &str = "#!lua flags=no-writes\\nreturn 1";
    // Their SHA-1s, in this order.
    const SHAS: [&str; 3] = [
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
        "cb70127618f0b0be70c53cf6bfcfa54a29d9b0c0",
        "77f21361171213377cb083e2ffc2ae24ffdff8fb",
    ];
    let mut requests = Vec::new();
    for script in [PLAIN, WRITES, READS] {
        for command in ["EVAL", "EVAL_RO"] {
            requests.push(format!("{command} \"{script}\" 0"));
        }
        requests.push(format!("SCRIPT LOAD \"{script} + 1\""));
    }
    for sha in SHAS
        .iter()
        .chain(&["ffffffffffffffffffffffffffffffffffffffff"])
    {
        requests.push(format!("EVALSHA {sha} 0"));
        requests.push(format!("EVALSHA_RO {sha} 0"));
    }
    let more = [
        "SCRIPT FLUSH",
        "SCRIPT EXISTS x",
        "PUBLISH a x",
        "SPUBLISH a x",
    ];
    requests.extend(more.map(str::to_owned));
    let cases: Vec<String> = requests
        .iter()
        .map(|request| {
            format!(
                "SCRIPT LOAD \"{PLAIN}\"
                 SCRIPT LOAD \"{WRITES}\"
                 SCRIPT LOAD \"{READS}\"
                 3: MULTI
                 3: {request}
                 CLIENT PAUSE 100000 WRITE
                 2: {request}
                 3: EXEC
                 4: MULTI
                 4: {request}
                 4: EXEC
                 CLIENT UNPAUSE"
            )
        })
        .collect();
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    // A transaction has the requirements of its commands when they were queued.
    check(&[&format!(
        "2: MULTI
         2: EVALSHA {sha} 0
         SCRIPT LOAD \"{READS}\"
         CLIENT PAUSE 100000 WRITE
         2: EXEC
         3: EVALSHA {sha} 0
         CLIENT UNPAUSE
         SCRIPT FLUSH",
        sha = SHAS[2]
    )]);
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
