//! Several databases: notifications and blocked clients in each.

use super::check;

#[test]
fn a_client_waits_in_its_database() {
    check(&[
        "BLPOP l 0
         2: SELECT 1
         2: BLPOP l 0
         3: SELECT 1
         3: RPUSH l one
         3: SELECT 0
         3: RPUSH l zero",
        "SELECT 3
         BLMOVE l m LEFT RIGHT 0
         2: RPUSH l x
         3: SELECT 3
         3: RPUSH l y
         3: LRANGE m 0 -1
         2: LRANGE l 0 -1
         2: LRANGE m 0 -1",
        "SELECT 1
         BLPOP l 0
         2: RPUSH l x
         2: MOVE l 1
         2: EXISTS l
         BLMPOP 0 1 l LEFT COUNT 2
         2: RPUSH l x y z
         2: MOVE l 1
         LLEN l",
        "BZPOPMIN z 0
         2: SELECT 1
         2: ZADD z 1 a
         2: COPY z z DB 0
         2: ZCARD z",
        "BLPOP l 0
         2: SELECT 1
         2: RPUSH l a b
         2: SWAPDB 3 4
         2: SWAPDB 1 0
         2: LRANGE l 0 -1
         3: LRANGE l 0 -1",
        "SELECT 1
         BLPOP l 0
         2: BLPOP l 0
         3: RPUSH l a
         3: RPUSH l b
         3: SWAPDB 0 1
         3: SELECT 1
         3: RPUSH l c",
        "SELECT 1
         BLPOP l 0
         2: SELECT 2
         2: BLPOP l 0
         3: SELECT 2
         3: MULTI
         3: RPUSH l a b
         3: SWAPDB 1 2
         3: EXEC
         3: LLEN l",
        "SELECT 2
         BLPOP l 0
         3: EVAL \"redis.call('rpush', 'l', 'x') return redis.call('swapdb', 0, 2)\" 0
         3: DBSIZE",
        "BLPOP l 0
         2: SELECT 1
         2: SET l x
         2: SWAPDB 0 1
         2: SELECT 0
         2: DEL l
         2: RPUSH l x",
        "BLPOP l 0
         2: EVAL \"redis.call('select', 4) redis.call('rpush', 'l', 'x')\" 0
         2: EVAL \"redis.call('select', 4) redis.call('move', 'l', 0)\" 0",
    ]);
}

#[test]
fn events_name_the_database() {
    check(&[
        "CONFIG SET notify-keyspace-events KEAn
         PSUBSCRIBE __key*
         2: SELECT 11
         2: SET a 1
         2: MOVE a 2
         2: COPY a b DB 0
         2: SET c 1
         2: COPY c d DB 5
         2: COPY c d DB 5 REPLACE
         2: SWAPDB 5 6
         2: FLUSHDB
         2: RPUSH l x
         2: DEL l
         2: MULTI
         2: SET m 1
         2: SELECT 1
         2: SET m 1
         2: EXEC
         2: EVAL \"redis.call('select', 9) return redis.call('set', 'x', 'y')\" 0
         2: SET m 2
         2: FLUSHALL",
        "CONFIG SET notify-keyspace-events KEAn
         PSUBSCRIBE __key*
         2: DEBUG SET-ACTIVE-EXPIRE 0
         2: SET a 0
         2: SELECT 1
         2: SET a 1 PX 20
         2: SET b 1 PX 20
         sleep 50
         3: MOVE a 1
         2: GET b
         2: DEBUG SET-ACTIVE-EXPIRE 1",
        "CONFIG SET notify-keyspace-events KEA
         SUBSCRIBE __keyevent@0__:set __keyevent@1__:set __keyspace@1__:a
         2: SET a 1
         2: SELECT 1
         2: SET a 1",
        "HELLO 3
         CONFIG SET notify-keyspace-events KEAn
         PSUBSCRIBE *
         SET a 1
         MOVE a 1
         SET b 1
         COPY b b DB 1
         SELECT 1
         GET a",
    ]);
}

#[test]
fn a_database_is_cleaned_in_the_background() {
    check(&["CONFIG SET notify-keyspace-events KEx
         PSUBSCRIBE __key*
         2: SET a 0 PX 10
         sleep 300
         2: SELECT 6
         2: SET b 6 PX 10
         sleep 300
         2: SET c 6 PX 10
         2: SELECT 15
         sleep 300
         2: DBSIZE"]);
}

#[test]
fn caches_know_keys_by_name_alone() {
    check(&[
        "HELLO 3
         CLIENT TRACKING on
         GET a
         2: SELECT 1
         2: SET a 1
         2: SET a 2
         SELECT 2
         GET a
         2: DEL a
         GET b
         2: SET b 1
         GET b
         2: MOVE b 3
         GET b
         2: FLUSHDB
         GET b
         2: SWAPDB 1 2
         2: SET b 1
         GET b
         2: COPY b b DB 5
         GET b
         2: FLUSHALL",
        "HELLO 3
         CLIENT TRACKING on BCAST PREFIX a
         2: SELECT 1
         2: SET a1 1
         2: SET b1 1
         2: MOVE a1 2
         2: SWAPDB 1 2
         2: FLUSHDB
         SELECT 4
         SET a2 1
         MOVE a2 3",
    ]);
}

#[test]
fn monitors_and_lists_show_the_database() {
    check(&[
        "MONITOR
         2: SELECT 3
         2: GET a
         2: SELECT 99
         2: MULTI
         2: SELECT 4
         2: GET a
         2: EXEC
         2: GET a
         2: EVAL \"redis.call('get', 'a') redis.call('select', 5) return redis.call('get', 'a')\" 0
         2: GET a
         2: SWAPDB 1 2
         2: MOVE a 1
         2: RESET
         2: GET a
         3: GET a",
        "2: SELECT 3
         ~2: CLIENT LIST
         ~CLIENT LIST
         2: RESET
         ~2: CLIENT INFO",
    ]);
}

#[test]
fn the_number_of_databases_is_fixed() {
    check(&["CONFIG GET databases
         CONFIG SET databases 4
         CONFIG SET databases x
         CONFIG SET hz 10 databases 16"]);
}
