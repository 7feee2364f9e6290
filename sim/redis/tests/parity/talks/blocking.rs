//! Clients that wait.

use super::check;

#[test]
fn elements_go_to_the_longest_waiting_client() {
    check(&[
        "BLPOP l 0
         2: BRPOP l 0
         3: BLPOP m l 0
         4: RPUSH l a b c d
         4: LRANGE l 0 -1",
        "RPUSH l a b
         BLPOP m l 0
         BRPOP l m 0
         BLPOP l 0
         2: MULTI
         2: RPUSH l x
         2: LPUSH l y
         2: EXEC
         2: LRANGE l 0 -1",
        "BLPOP a b 0
         2: MULTI
         2: RPUSH b 1
         2: RPUSH a 1
         2: EXEC",
        "BLPOP a 0
         2: EVAL \"redis.call('rpush', 'a', 1) redis.call('lpush', 'a', 2) return redis.call('llen', 'a')\" 0
         2: LLEN a",
        "BLPOP a 0
         2: MULTI
         2: RPUSH a 1
         2: DEL a
         2: EXEC
         2: RPUSH a 2",
        "BLPOP a a 0
         2: SET a 1
         2: DEL a
         2: ZADD a 1 x
         2: DEL a
         2: RPUSH b x
         2: RENAME b a
         2: EXISTS a",
        "BLPOP a 0
         PING
         PING
         2: RPUSH a x",
        "BLPOP a 0x1
         2: RPUSH a x
         BLPOP a +1e1
         2: RPUSH a x
         BLPOP a 1x
         BLPOP a nan
         BLPOP a -0x1
         BLPOP a infinity",
        "BZPOPMIN z y 0
         2: BZPOPMAX z 0
         3: ZADD z 1 a 2 b 3 c
         3: ZRANGE z 0 -1
         ~HELLO 3
         BZPOPMIN z 0",
        "BLMPOP 0 2 a b LEFT COUNT 2
         2: RPUSH b 1 2 3
         BZMPOP 0 1 z MAX
         2: ZADD z 1 a 2 b",
        "SET s x
         BLPOP s 0
         BLPOP l s 0
         RPUSH l x
         BLPOP l s 0
         BZPOPMIN l s 0",
    ]);
}

#[test]
fn moves_feed_further_waits() {
    check(&[
        "BLMOVE a b LEFT RIGHT 0
         2: BLMOVE b c RIGHT LEFT 0
         3: BLPOP c 0
         4: RPUSH a x",
        "BRPOPLPUSH a a 0
         2: LPUSH a x
         2: LRANGE a 0 -1",
        "2: SET b x
         BLMOVE a b LEFT RIGHT 0
         2: RPUSH a y
         2: LRANGE a 0 -1",
        "RPUSH a 1 2
         BLMOVE a b LEFT LEFT 0
         BRPOPLPUSH a b 0
         BLMOVE a b LEFT DOWN 0
         BLMOVE a b LEFT LEFT -1",
        "CONFIG SET notify-keyspace-events EA
         3: PSUBSCRIBE *
         BLPOP a 0
         2: RPUSH a x
         BRPOPLPUSH a b 0
         2: RPUSH a x",
        "~3: HELLO 3
         3: CLIENT TRACKING on
         3: LLEN a
         BLPOP a 0
         2: RPUSH a x
         3: LLEN a",
    ]);
}

#[test]
fn a_wait_ends_with_its_time() {
    check(&[
        "BLPOP a 0.05
         2: BLMOVE a b LEFT RIGHT 0.05
         3: BZPOPMIN z 0.05
         ~4: HELLO 3
         4: BRPOPLPUSH a b 0.05
         5: BLMPOP 0.05 1 a LEFT
         6: WAIT 1 50
         sleep 500
         2: RPUSH a x
         2: LLEN a
         PING",
        "BLPOP a 0.05
         PING
         sleep 400
         PING",
        "BLPOP a x
         BLPOP a -1
         BLPOP a 1e400
         BLPOP a nan
         BLPOP a
         BLPOP a 1e18
         BZPOPMIN a x
         BLMPOP 0 0 a LEFT
         BLMPOP 0 2 a LEFT
         BLMPOP 0 1 a UP
         BLMPOP 0 1 a LEFT COUNT 0
         BLMPOP 0 1 a LEFT COUNT x
         BLMPOP x 1 a LEFT
         BZMPOP 0 1 a LEFT
         WAIT 0 0
         WAIT -1 0
         WAIT x 0
         WAIT 1 x
         WAIT 1 -1",
    ]);
}

#[test]
fn nothing_waits_in_transactions_and_scripts() {
    check(&["MULTI
         BLPOP a 0
         BLMOVE a b LEFT RIGHT 0
         BRPOPLPUSH a b 0
         BZPOPMIN a 0
         BLMPOP 0 1 a LEFT
         WAIT 1 0
         EXEC
         EVAL \"return redis.call('blpop', 'a', 0)\" 0
         EVAL \"return redis.call('blmpop', 0, 1, 'a', 'LEFT')\" 0
         MULTI
         RPUSH a x
         BLPOP a 0
         EXEC"]);
}

#[test]
fn waits_ended_by_another_client() {
    check(&[
        "BLPOP a 0
         2: CLIENT UNBLOCK $1
         2: CLIENT UNBLOCK $1
         BLPOP a 0
         2: CLIENT UNBLOCK $1 ERROR
         BLMOVE a b LEFT RIGHT 0
         2: CLIENT UNBLOCK $1 TIMEOUT
         2: RPUSH a x
         WAIT 1 0
         2: CLIENT UNBLOCK $1
         2: CLIENT UNBLOCK x
         2: CLIENT UNBLOCK $1 FOO
         2: CLIENT UNBLOCK $1 ERROR x",
        "BLPOP a 0
         3: BLPOP a 0
         2: CLIENT KILL ID $1
         2: RPUSH a x
         2: LLEN a",
        "BLPOP a 0
         SET k v
         2: RPUSH a x
         2: GET k",
    ]);
}
