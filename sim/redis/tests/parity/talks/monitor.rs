//! MONITOR: times and addresses are not compared.

use super::check;

#[test]
fn every_call_is_shown() {
    check(&[
        "MONITOR
         MONITOR
         2: MONITOR x
         2: PING
         2: SET a \"x \\ \u{e9}\t\u{7f}'\"
         2: GETX
         2: GET
         2: INCR a
         2: CONFIG GET hz
         2: CLIENT SETNAME z
         2: CLIENT LIST ID 999999
         2: DEBUG SLEEP 0
         2: SLAVEOF NO ONE
         2: SHUTDOWN x
         2: DBSIZE
         2: PUBLISH c x
         2: SELECT 0
         2: SELECT 7
         2: SUBSCRIBE c
         2: PING
         2: UNSUBSCRIBE c
         2: WATCH a
         2: RESET
         2: CLIENT REPLY SKIP
         2: PING
         2: GETEX a EX 10
         ~2: COMMAND COUNT
         2: MONITOR
         3: PING
         1: CLIENT LIST TYPE replica
         1: RESET
         3: PING
         1: GET a
         2: QUIT
         3: PING",
        "2: MONITOR
         3: MONITOR
         MULTI
         SET a 1
         CONFIG GET x
         PING
         EXEC
         MULTI
         NOPE
         EXEC
         DISCARD
         MULTI
         INCR a
         MONITOR
         EXEC
         3: CLIENT KILL ID $2
         PING",
    ]);
}

#[test]
fn passwords_are_not() {
    check(&["2: MONITOR
         AUTH x
         AUTH u p
         AUTH a b c
         ~HELLO 2 AUTH default p
         ~HELLO 2 SETNAME a AUTH default p
         HELLO 3 AUTH u p
         HELLO 4 AUTH u p
         HELLO 2 AUTH u
         HELLO 2 FOO AUTH u p
         MULTI
         AUTH x
         EXEC"]);
}

#[test]
fn scripts_and_their_calls_are_shown() {
    check(&["2: MONITOR
         SET a 1
         EVAL \"redis.call('set', 'q', 1) redis.pcall('incr', 'q', 'x') redis.pcall('lpush', 'q', 1) return redis.call('get', 'q')\" 0
         EVAL \"return redis.call('config', 'get', 'hz')\" 0
         EVAL \"return 1\" x
         EVALSHA abc 0
         SCRIPT LOAD \"return redis.call('get', 'a')\"
         EVALSHA_RO 4a2267357833227dd98abdedb8cf24b15a986445 0
         MULTI
         EVAL \"return redis.call('get', 'a')\" 0
         EXEC
         EVAL_RO \"return redis.call('get', KEYS[1])\" 1 a"]);
}

#[test]
fn blocking_commands_are_shown_when_they_are_sent() {
    check(&["2: MONITOR
         BLPOP l 0
         3: RPUSH l a b
         BLMPOP 0.05 1 m LEFT
         sleep 300
         PING
         3: BLPOP l 0"]);
}

#[test]
fn a_monitor_sees_itself_and_touches_no_key() {
    check(&["MONITOR
         PING
         GET a
         SET a 1
         PUBLISH c x
         EVAL \"return 1\" 0
         MULTI
         PING
         ECHO x
         EXEC
         CLIENT REPLY OFF
         2: PING
         CLIENT REPLY ON
         PSYNC ? -1
         SUBSCRIBE c
         UNSUBSCRIBE c
         2: CLIENT PAUSE 300 ALL
         PING
         sleep 500
         ~HELLO 3
         2: PING
         2: CLIENT KILL TYPE replica
         2: CLIENT KILL ID $1"]);
}
