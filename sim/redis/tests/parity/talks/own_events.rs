//! A client that gets events of its own changes, in RESP3: which events come before the reply
//! of the command that caused them, and which after it.

use super::check;

/// Conversations in which the first connection subscribes to its own events.
fn check_own(talks: &[&str]) {
    let listens = "CONFIG SET notify-keyspace-events EAn
         DEBUG SET-ACTIVE-EXPIRE 0
         ~HELLO 3
         PSUBSCRIBE __key*";
    let ends = "2: DEBUG SET-ACTIVE-EXPIRE 1";
    let talks: Vec<String> = talks
        .iter()
        .map(|talk| format!("{listens}\n{talk}\n{ends}"))
        .collect();
    check(&talks.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn strings_and_keys() {
    check_own(&[
        "SET k v
         SET k v GET
         SET k x NX GET
         SET k v PX 100000 GET
         SET nope v XX GET
         SET new v GET
         SET k v PX 100000
         SETNX j v
         SETEX k 100 v
         PSETEX k 100000 v
         GETSET k w
         GETSET other w
         GETDEL k
         GETDEL k
         INCR n
         DECRBY n 3
         INCRBYFLOAT n 0.5
         APPEND s x
         SETRANGE s 3 y
         MSET a 1 b 2
         MSETNX c 1 d 2
         DEL a b nope
         UNLINK c d",
        "MSET a 1 b 2 c 3
         EXPIRE a 100
         EXPIRE a 100 NX
         PEXPIRE a 100000
         EXPIREAT a 4102444800
         PEXPIREAT a 4102444800000
         PERSIST a
         PEXPIRE a -5
         GETEX b
         GETEX b PX 100000
         GETEX b PERSIST
         GETEX b PERSIST
         GETEX b PXAT 1
         RENAME c d
         RENAMENX d e
         COPY e f
         FLUSHALL",
    ]);
}

#[test]
fn hashes_and_lists() {
    check_own(&[
        "HSET h a 1 b 2
         HSET h a 1
         HMSET h c 3
         HSETNX h a 1
         HSETNX h d 1
         HINCRBY h a 1
         HINCRBY x a 1
         HINCRBYFLOAT h a 0.5
         HINCRBYFLOAT y a 0.5
         HDEL h nope
         HDEL h a b c d",
        "RPUSH l a b c d e f
         LPUSH l x
         LPUSHX l y
         RPUSHX l y
         RPUSHX nope y
         LSET l 0 z
         LINSERT l BEFORE z zz
         LREM l 0 zz
         LTRIM l 0 5
         LPOP l
         RPOP l
         LPOP l 0
         LPOP l 1
         RPOP l 9
         RPUSH l a
         LPOP l",
        "RPUSH l a b c d
         LMOVE l m LEFT RIGHT
         LMOVE m m LEFT RIGHT
         RPOPLPUSH m l
         RPOPLPUSH l m
         LMPOP 2 nope m LEFT
         LMPOP 1 l RIGHT COUNT 9
         RPUSH l a b c d
         BLPOP l 0
         BRPOP nope l 0
         BLMOVE l m LEFT RIGHT 0
         BRPOPLPUSH l m 0
         BLMPOP 0 1 m LEFT COUNT 2",
    ]);
}

#[test]
fn sets_and_sorted_sets() {
    check_own(&[
        "SADD s a b c
         SADD s a
         SREM s a
         SMOVE s t b
         SMOVE s t c
         SADD s a
         SPOP s
         SADD s a
         SPOP s 0
         SPOP s 1
         SADD s a b c
         ~SPOP s 9
         ~SPOP t
         SREM t b c",
        "ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
         ZADD z 1 a
         ZADD z XX 9 a
         ZADD z XX CH 9 nope
         ZADD z INCR 1 a
         ZADD z LT INCR 1 a
         ZINCRBY z 1 a
         ZINCRBY y 1 a
         ZREM z a
         ZREM z a
         ZREMRANGEBYRANK z 0 0
         ZREMRANGEBYSCORE z 3 3
         ZREMRANGEBYSCORE z 4 5
         ZREMRANGEBYLEX z - +",
    ]);
}

#[test]
fn expired_events_come_first() {
    check_own(&["SET k v PX 5
         RPUSH l a
         PEXPIRE l 5
         SADD s a
         PEXPIRE s 5
         sleep 20
         SET k v GET
         RPUSH l a
         SMEMBERS s"]);
}

#[test]
fn waiting_clients() {
    check_own(&["BLPOP l 0
         2: RPUSH l a b
         BLMOVE q l LEFT RIGHT 0
         2: RPUSH q a
         BRPOPLPUSH q new 0
         2: RPUSH q a
         BLMPOP 0 1 q LEFT COUNT 2
         2: RPUSH q a b c
         BLPOP nope 0
         2: RPUSH nope a
         GET k"]);
}

#[test]
fn transactions_and_scripts() {
    check_own(&[
        "MULTI
         SET k v
         GETSET k w
         EXPIRE k 100
         RPUSH l a b
         LMOVE l m LEFT RIGHT
         SADD s a
         SPOP s
         GETEX k PERSIST
         EXPIRE k -1
         EXEC
         EVAL \"redis.call('rpush', 'l', 'x') redis.call('hset', 'h', 'a', 'b') return redis.call('lmove', 'l', 'm', 'left', 'right')\" 0
         HSET h a 1
         MULTI
         EVAL \"redis.call('rpush', 'l', 'x') return redis.call('getset', 'k', 'v')\" 0
         LPOP l
         EXEC",
        "CLIENT REPLY OFF
         HSET h a 1
         GETSET k v
         CLIENT REPLY ON
         CLIENT REPLY SKIP
         HSET h a 2
         HSET h a 2",
    ]);
}

/// The target of another client's invalidations gets them where the key changed.
#[test]
fn invalidations_of_another_client() {
    check_own(&["2: CLIENT TRACKING on REDIRECT $1
         SET k v
         2: GET k
         GETSET k w
         2: GET k
         EXPIRE k 100
         2: LLEN l
         RPUSH l a b
         SADD s a
         2: SCARD s
         SPOP s
         SADD s a
         2: SCARD s
         SPOP s 1"]);
}
