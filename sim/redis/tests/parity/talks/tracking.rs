//! Client-side caching.

use super::check;

#[test]
fn readers_hear_of_changes() {
    check(&[
        "~HELLO 3
         CLIENT TRACKING on
         GET a
         MGET b c
         2: SET a 1
         2: SET a 2
         2: MSET b 1 c 1
         GET a
         SET a 3
         GET a
         2: EXPIRE a 100
         GET a
         2: DEL a
         GET a
         2: SET a 1 XX
         2: FLUSHALL
         GET a
         2: SET a 1
         CLIENT TRACKING off
         GET a
         2: SET a 1",
        "~HELLO 3
         CLIENT TRACKING on
         GET a
         MULTI
         SET a 1
         GET a
         SET b 1
         EXEC
         GET a
         2: MULTI
         2: SET a 1
         2: DEL a
         2: EXEC
         FLUSHALL",
        "~HELLO 3
         CLIENT TRACKING on NOLOOP
         GET a
         SET a 1
         GET a
         2: SET a 2",
        "~HELLO 3
         CLIENT TRACKING on
         EVAL \"return redis.call('get', KEYS[1])\" 1 a
         2: SET a 1
         EVAL \"return redis.call('get', 'b')\" 0
         2: SET b 1
         EVAL \"return redis.call('get', 'b')\" 1 c
         2: SET b 1
         2: SET c 1
         EVAL_RO \"return 1\" 1 d
         2: SET d 1
         GET a
         2: EVAL \"redis.call('set', 'a', 1) return redis.call('set', 'a', 2)\" 0",
        "DEBUG SET-ACTIVE-EXPIRE 0
         ~HELLO 3
         CLIENT TRACKING on
         SET a 1 PX 150
         GET a
         sleep 200
         2: GET a
         DEBUG SET-ACTIVE-EXPIRE 1
         SET a 1 PX 150
         GET a
         sleep 500",
    ]);
}

#[test]
fn modes() {
    check(&[
        "~HELLO 3
         CLIENT TRACKING on BCAST PREFIX a PREFIX b
         2: SET a1 1
         2: SET c 1
         2: MSET b2 1 a2 1 b1 1 x 1
         SET a 1
         2: FLUSHALL
         CLIENT TRACKINGINFO",
        "~HELLO 3
         CLIENT TRACKING on BCAST NOLOOP
         SET a 1
         2: SET b 1
         CLIENT TRACKINGINFO
         CLIENT TRACKING off
         2: SET b 1",
        "~HELLO 3
         CLIENT TRACKING on OPTIN
         GET a
         2: SET a 1
         CLIENT CACHING yes
         CLIENT TRACKINGINFO
         GET a
         GET b
         2: MSET a 1 b 1
         CLIENT CACHING yes
         MULTI
         GET a
         GET b
         EXEC
         2: MSET a 1 b 1
         CLIENT CACHING no",
        "~HELLO 3
         CLIENT TRACKING on OPTOUT
         GET a
         CLIENT CACHING no
         CLIENT TRACKINGINFO
         GET b
         2: MSET a 1 b 1
         CLIENT CACHING yes",
    ]);
}

#[test]
fn redirection() {
    check(&[
        "2: SUBSCRIBE __redis__:invalidate
         CLIENT TRACKING on REDIRECT $2
         CLIENT GETREDIR
         CLIENT TRACKINGINFO
         GET a
         3: SET a 1
         GET a
         SET a 2
         3: FLUSHALL
         GET a
         3: CLIENT KILL ID $2
         3: SET a 1
         CLIENT TRACKINGINFO",
        "~2: HELLO 3
         ~HELLO 3
         CLIENT TRACKING on REDIRECT $2
         GET a
         3: SET a 1
         GET a
         3: CLIENT KILL ID $2
         3: SET a 1
         CLIENT TRACKINGINFO
         CLIENT TRACKING on
         CLIENT TRACKINGINFO",
        "CLIENT TRACKING on
         GET a
         2: SET a 1
         CLIENT TRACKING off",
        "2: PING
         CLIENT TRACKING on REDIRECT $2 REDIRECT $2
         CLIENT TRACKING on REDIRECT x
         CLIENT TRACKING on REDIRECT 999999",
    ]);
}

#[test]
fn refusals() {
    check(&["CLIENT TRACKING on PREFIX a
         CLIENT TRACKING on OPTIN OPTOUT
         CLIENT TRACKING on BCAST OPTIN
         CLIENT TRACKING foo
         CLIENT TRACKING on FOO
         CLIENT TRACKING on REDIRECT
         CLIENT TRACKING on PREFIX
         CLIENT TRACKING
         CLIENT CACHING yes
         CLIENT CACHING foo
         CLIENT GETREDIR
         CLIENT TRACKINGINFO
         CLIENT TRACKING on
         CLIENT CACHING yes
         CLIENT CACHING no
         CLIENT CACHING foo
         CLIENT TRACKING on BCAST
         CLIENT TRACKING on OPTIN
         CLIENT TRACKING on OPTOUT
         CLIENT TRACKING on
         CLIENT TRACKINGINFO
         CLIENT TRACKING off BCAST
         CLIENT TRACKING on BCAST PREFIX a PREFIX ab
         CLIENT TRACKING on BCAST PREFIX ab PREFIX b
         CLIENT TRACKING on BCAST PREFIX a
         CLIENT TRACKING on BCAST PREFIX c
         CLIENT TRACKINGINFO
         CLIENT TRACKING on BCAST
         CLIENT TRACKINGINFO
         CLIENT TRACKING on
         CLIENT TRACKING off
         CLIENT TRACKING on OPTIN
         CLIENT CACHING foo
         CLIENT TRACKING on OPTIN OPTOUT"]);
}

#[test]
fn keys_read_before_are_forgotten_while_no_client_is_tracked() {
    for (meanwhile, then) in [
        ("FLUSHALL", "2: SET k 1"),
        ("FLUSHDB", "2: SET k 1"),
        ("2: SET k 1", "2: SET k 2"),
        ("PING", "2: SET k 2"),
    ] {
        check(&[&format!(
            "~HELLO 3
             CLIENT TRACKING on
             GET k
             CLIENT TRACKING off
             {meanwhile}
             CLIENT TRACKING on
             {then}"
        )]);
    }
}
