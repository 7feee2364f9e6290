//! MULTI and EXEC, and the watches that stop them.

use super::check;

#[test]
fn transactions() {
    check(&[
        "MULTI
         SET a 1
         INCR a
         GET a
         EXEC
         EXEC
         DISCARD
         MULTI
         EXEC",
        "MULTI
         SET a 1
         DISCARD
         GET a
         MULTI x
         EXEC x
         DISCARD x",
        "MULTI
         NOPE
         SET a 1
         EXEC
         GET a
         MULTI
         GET
         EXEC
         MULTI
         CLIENT NOPE
         DISCARD
         MULTI
         EXEC",
        "MULTI
         NOPE
         SET a 1
         2: CONFIG SET maxmemory 1
         EXEC
         2: CONFIG SET maxmemory 0",
        "WATCH a
         2: SET a 1
         MULTI
         SET a 2
         2: CONFIG SET maxmemory 1
         EXEC
         2: CONFIG SET maxmemory 0",
        "WATCH a
         MULTI
         SET a 2
         2: CONFIG SET maxmemory 1
         EXEC
         2: CONFIG SET maxmemory 0",
        "SET a x
         MULTI
         SET b 1
         INCR a
         SET c 1 EX 0
         SET b 2
         EXEC
         GET b",
        "MULTI
         MULTI
         SET a 1
         EXEC
         MULTI
         WATCH a
         GET a
         EXEC
         MULTI
         UNWATCH
         PING
         SELECT 1
         ~HELLO 2
         ~EXEC
         MULTI
         HELLO 9
         EXEC
         MULTI
         EXEC x
         EXEC
         MULTI
         RESET
         EXEC",
        "MULTI
         EVAL return 0
         EVAL x y
         EVALSHA x 0
         SCRIPT LOAD (
         SCRIPT NOPE
         EXEC",
        "WATCH
         UNWATCH
         UNWATCH x",
    ]);
}

#[test]
fn watches() {
    check(&[
        "WATCH a
         2: SET a 1
         MULTI
         PING
         EXEC
         MULTI
         PING
         EXEC",
        "WATCH a
         SET a 1
         MULTI
         PING
         EXEC",
        "WATCH a b
         2: SET c 1
         2: GET a
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         UNWATCH
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         MULTI
         DISCARD
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         MULTI
         NOPE
         EXEC",
        "WATCH a
         2: DEL a
         2: PEXPIRE a 100
         2: PERSIST a
         2: SET a 1 XX
         2: GETDEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: SET a 2 NX
         2: SETNX a 2
         2: PERSIST a
         2: EXPIRE a 100 XX
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: PEXPIRE a 100000
         MULTI
         PING
         EXEC",
        "SET a 1 PX 100000
         WATCH a
         2: PERSIST a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: DEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: GETDEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: SET a 1
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "WATCH a
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: FLUSHDB
         2: SET a 1
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: EVAL return(redis.call('del','a')) 0
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         WATCH a
         sleep 50
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         WATCH a
         sleep 50
         2: GET a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: GET a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: SET a 2
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: FLUSHALL
         2: SET a 2
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: SETEX a 100 x
         MULTI
         PING
         EXEC",
        "WATCH a
         WATCH a
         2: SET a 1
         WATCH a
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         RESET
         MULTI
         PING
         EXEC",
        "WATCH a
         2: WATCH a
         MULTI
         SET a 1
         EXEC
         2: MULTI
         2: PING
         2: EXEC",
    ]);
}
