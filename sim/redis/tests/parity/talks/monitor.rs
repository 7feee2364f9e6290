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
         2: PING
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
