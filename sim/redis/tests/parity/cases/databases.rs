//! Several databases.

use super::check;

#[test]
fn a_client_selects_a_database() {
    check(&[
        "SET a 0
         SELECT 1
         GET a
         SET a 1
         2: GET a
         2: SELECT 1
         2: GET a
         SELECT 15
         SELECT 16
         DBSIZE
         SELECT -1
         SELECT x
         SELECT 9999999999
         SELECT 99999999999999999999
         SELECT 01
         SELECT
         SELECT 1 2
         CLIENT INFO x
         RESET
         GET a
         2: GET a",
        "MULTI
         SELECT 3
         SET a 3
         SELECT 99
         SELECT 4
         SET a 4
         GET a
         EXEC
         GET a
         SELECT 3
         GET a
         MULTI
         SELECT 5
         DISCARD
         GET a
         CONFIG GET databases",
        "SET a 0
         SELECT 7
         EVAL return{redis.call('select',2),redis.call('set','a','two')} 0
         DBSIZE
         EVAL return(redis.call('dbsize')) 0
         EVAL return(redis.call('select',16)) 0
         EVAL return(redis.pcall('select','x')) 0
         EVAL return(redis.call('select','0'))and(redis.call('get','a')) 0
         EVAL return(redis.call('get','a')) 0
         SELECT 2
         GET a
         MULTI
         EVAL return(redis.call('select',0)) 0
         GET a
         EVAL return(redis.call('select',16)) 0
         GET a
         EXEC
         EVAL redis.call('select',3)error('x') 0
         DBSIZE",
    ]);
}

#[test]
fn each_database_has_its_keys() {
    check(&[
        "MSET a 0 b 0
         SELECT 1
         MSET b 1 c 1 d 1
         DBSIZE
         ?KEYS *
         ?SCAN 0 COUNT 100
         2: DBSIZE
         2: ?KEYS *
         2: ?SCAN 0 COUNT 100
         EXISTS a b c
         TYPE a
         DEL a
         FLUSHDB x
         FLUSHDB ASYNC
         FLUSHDB SYNC
         DBSIZE
         RANDOMKEY
         2: DBSIZE
         SET x 1
         RANDOMKEY
         2: FLUSHALL ASYNC
         DBSIZE",
        "SET a 0 PX 100000
         SELECT 9
         SET a 9
         INFO keyspace
         2: DEL a
         INFO keyspace
         DEL a
         INFO keyspace",
        "SET a 0 PX 30
         SELECT 2
         SET a 2 PX 30
         SET b 2
         sleep 60
         DBSIZE
         2: DBSIZE
         GET a
         DBSIZE
         2: DBSIZE
         2: GET a
         2: DBSIZE",
    ]);
}

#[test]
fn a_key_moves() {
    check(&[
        "SET a 0 PX 100000
         MOVE a 1
         GET a
         MOVE a 1
         SELECT 1
         GET a
         ≈PTTL a
         2: SET a new
         2: MOVE a 1
         2: GET a
         MOVE a 1
         MOVE nope 1
         MOVE a 16
         MOVE a -1
         MOVE a x
         MOVE a 9999999999
         MOVE a
         MOVE a 1 1
         MOVE nope 16
         RPUSH l 1 2 3
         MOVE l 15
         SELECT 15
         LRANGE l 0 -1",
        "SET a 0
         SELECT 1
         SET a 1 PX 20
         SET b 1 PX 20
         2: SET c 2 PX 20
         sleep 40
         2: MOVE a 1
         2: MOVE b 1
         2: MOVE c 1
         MOVE b 0
         GET a
         DBSIZE
         2: DBSIZE",
        "SET a 0
         MULTI
         MOVE a 3
         SELECT 3
         GET a
         MOVE a 3
         EXEC
         EVAL return(redis.call('move','a',0)) 1 a
         2: GET a
         EVAL_RO return(redis.call('move','a',0)) 1 a",
    ]);
}

#[test]
fn a_copy_goes_to_another_database() {
    check(&["SET a 0 PX 100000
         COPY a a DB 1
         COPY a a DB 1
         COPY a b DB 1 REPLACE
         2: SELECT 1
         2: ≈PTTL a
         2: SET a 1
         COPY a a REPLACE DB 1
         2: GET a
         COPY a a DB 0
         COPY a a
         COPY a b DB 1 DB 0
         COPY a a DB 0 DB 1
         COPY a b DB 16
         COPY a b DB -1
         COPY a a DB x
         COPY nope nope DB 0
         COPY nope nope DB 1
         COPY a b DB
         COPY a b DB 99999999999
         COPY a b db 2 replace
         DBSIZE
         2: COPY a z DB 0
         GET z"]);
}

#[test]
fn databases_are_swapped() {
    check(&["SET a 0
         SET x 0 PX 100000
         SELECT 1
         SET a 1
         SWAPDB 0 1
         GET a
         ≈PTTL x
         2: GET a
         INFO keyspace
         SWAPDB 1 1
         GET a
         SWAPDB 1 0
         GET a
         SWAPDB 0 16
         SWAPDB -1 0
         SWAPDB x 0
         SWAPDB 0 x
         SWAPDB x y
         SWAPDB 99999999999 0
         SWAPDB 0 99999999999
         SWAPDB 0
         SWAPDB 0 1 2
         SWAPDB 2 15
         MULTI
         SWAPDB 0 1
         GET a
         EXEC
         EVAL return(redis.call('swapdb',0,1)) 0
         GET a
         INFO keyspace"]);
}

#[test]
fn a_watched_key_is_one_of_a_database() {
    check(&[
        "WATCH a
         2: SELECT 1
         2: SET a 1
         MULTI
         GET a
         EXEC
         WATCH a
         SELECT 1
         WATCH a
         SELECT 0
         2: SET a 2
         MULTI
         PING
         EXEC",
        "SELECT 1
         WATCH a
         SELECT 0
         WATCH a
         2: SET a 1
         UNWATCH
         2: SET a 2
         MULTI
         EXEC",
        "SET a 1
         WATCH a b
         2: SELECT 1
         2: FLUSHDB
         MULTI
         PING
         EXEC
         WATCH b
         2: SELECT 0
         2: FLUSHDB
         MULTI
         PING
         EXEC
         SET a 1
         WATCH a
         2: FLUSHDB
         MULTI
         PING
         EXEC
         SET a 1
         WATCH a
         2: SELECT 5
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: SWAPDB 2 3
         2: SWAPDB 0 0
         MULTI
         PING
         EXEC
         WATCH a
         2: SWAPDB 0 3
         MULTI
         PING
         EXEC
         WATCH a
         2: SWAPDB 3 0
         MULTI
         PING
         EXEC
         WATCH nope
         2: SWAPDB 3 0
         MULTI
         PING
         EXEC",
        // An expired key comes, goes, or is replaced by another.
        "SET a 1 PX 20
         SELECT 1
         SET b 1 PX 20
         sleep 40
         WATCH a
         SELECT 0
         WATCH b
         2: SWAPDB 0 1
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         sleep 40
         WATCH a
         2: SWAPDB 0 1
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         SELECT 1
         SET a 2 PX 20
         sleep 40
         WATCH a
         2: SWAPDB 0 1
         MULTI
         PING
         EXEC
         WATCH a
         2: SELECT 2
         2: SET a 3
         2: SWAPDB 1 2
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         SELECT 1
         sleep 40
         WATCH a
         2: SWAPDB 0 1
         2: SELECT 1
         2: GET a
         MULTI
         PING
         EXEC
         WATCH a
         2: SET a 5
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         SELECT 1
         SET a 2
         sleep 40
         WATCH a
         2: SWAPDB 0 1
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: MOVE a 1
         MULTI
         PING
         EXEC
         WATCH a
         2: SELECT 1
         2: MOVE a 0
         MULTI
         PING
         EXEC
         WATCH b
         2: COPY nope b DB 0
         MULTI
         PING
         EXEC
         2: SET s 1
         WATCH b
         2: COPY s b DB 0
         MULTI
         PING
         EXEC",
    ]);
}
