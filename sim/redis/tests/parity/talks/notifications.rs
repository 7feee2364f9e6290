//! Keyspace notifications: which command causes which event.

use super::check;

#[test]
fn strings_and_keys() {
    check(&[
        "CONFIG SET notify-keyspace-events KEA
         2: PSUBSCRIBE __key*
         SET k v NX PX 100000
         SET k v NX PX 100000
         SET k v
         SET k v KEEPTTL
         SETNX k v
         SETNX j v
         GETSET k w
         SETEX k 100 v
         PSETEX k 100000 v
         EXPIRE k 100
         PEXPIRE k 100000
         EXPIREAT k 4102444800
         PERSIST k
         PERSIST k
         PEXPIRE k -5
         DEL k j nope
         SET k v
         UNLINK k
         INCR n
         DECRBY n 3
         INCRBYFLOAT n 0.5
         APPEND s x
         SETRANGE s 3 y
         MSET a 1 b 2
         MSETNX c 1 d 2
         GETDEL a
         GETDEL a
         GETEX b PX 100000
         GETEX b PERSIST
         GETEX b PXAT 1
         RENAME c e
         RENAMENX e d
         RENAMENX e f
         COPY f g
         FLUSHALL",
        "CONFIG SET notify-keyspace-events KEnx
         2: PSUBSCRIBE __key*
         SET k v
         SET k v
         HSET h a 1
         HSET h a 1
         RPUSH l a
         SADD s a
         ZADD z 1 a
         DEL k
         SETNX k v
         INCR n",
        "CONFIG SET notify-keyspace-events Kg
         2: PSUBSCRIBE __key*
         SET k v PX 1000
         DEL k",
        "CONFIG SET notify-keyspace-events E$
         2: SUBSCRIBE __keyevent@0__:set
         SET k v PX 1000
         DEL k",
        "CONFIG SET notify-keyspace-events A
         2: PSUBSCRIBE *
         SET k v",
        "CONFIG SET notify-keyspace-events KE
         2: PSUBSCRIBE *
         SET k v",
    ]);
}

#[test]
fn collections() {
    check(&[
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE __key*
         HSET h a 1 b 2
         HMSET h c 3
         HSETNX h a 1
         HSETNX h d 1
         HINCRBY h a 1
         HINCRBY x a 1
         HINCRBYFLOAT h a 0.5
         HDEL h nope
         HDEL h a b c d
         HDEL x a",
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE __key*
         RPUSH l a b c d e f
         LPUSH l x
         LPUSHX l y
         RPUSHX nope y
         LSET l 0 z
         LINSERT l BEFORE z zz
         LREM l 0 zz
         LREM l 0 zz
         LTRIM l 0 2
         LPOP l
         RPOP l
         LPOP l 1
         RPUSH l a b
         LPOP l 9
         RPUSH l a
         LMOVE l m LEFT RIGHT
         LMOVE m m LEFT RIGHT
         RPOPLPUSH m l
         LTRIM l 5 9",
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE __key*
         SADD s a b c
         SADD s a
         SREM s a
         SREM s a
         SMOVE s t b
         SMOVE s t c
         SADD s b
         SMOVE s t b
         ~SPOP t
         ~SPOP t",
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE __key*
         ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
         ZADD z 1 a
         ZADD z XX 9 a
         ZADD z INCR 1 a
         ZINCRBY z 1 a
         ZREM z a
         ZREM z a
         ZPOPMIN z
         ZPOPMAX z
         ZREMRANGEBYRANK z 0 0
         ZREMRANGEBYSCORE z 4 4
         ZADD z 5 e
         ZREMRANGEBYLEX z - +",
    ]);
}

#[test]
fn in_transactions_and_scripts() {
    check(&[
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE *
         MULTI
         SET k v PX 100000
         PUBLISH a x
         DEL k
         EXEC
         EVAL \"redis.call('set', 'k', 'v') redis.call('publish', 'a', 'x') return redis.call('del', 'k')\" 0
         EVAL \"redis.call('set', 'k', 'v') error('after')\" 0",
        "CONFIG SET notify-keyspace-events EA
         ~HELLO 3
         PSUBSCRIBE *
         SET k v
         MULTI
         SET k v
         DEL k
         EXEC",
    ]);
}

#[test]
fn expiry_is_notified_before_the_command_that_found_it_and_without_access() {
    check(&[
        "DEBUG SET-ACTIVE-EXPIRE 0
         CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE *
         SET k v PX 5
         SET j v PX 5
         SET i v PX 5
         sleep 20
         SET k w NX
         GET j
         DEL k i
         DEBUG SET-ACTIVE-EXPIRE 1",
        "CONFIG SET notify-keyspace-events EA
         2: PSUBSCRIBE *
         SET k v PX 30
         sleep 500
         DBSIZE",
    ]);
}
