//! The differences of RESP3.

use super::check;

#[test]
fn replies_in_resp3() {
    check(&[
        "~HELLO
         ~HELLO 3
         ~HELLO
         ~HELLO 3 SETNAME me
         CLIENT GETNAME
         HELLO 3 SETNAME
         HELLO 4
         GET nope
         SET k v XX
         MGET k nope
         HGETALL h
         HSET h a 1
         HGETALL h
         SMEMBERS s
         SADD s a
         SMEMBERS s
         ZADD z 1.5 a 2 b
         ZSCORE z a
         ZSCORE z nope
         ZRANGE z 0 -1
         ZRANGE z 0 -1 WITHSCORES
         ZRANGEBYSCORE z 0 2 WITHSCORES
         ZINCRBY z 1 a
         ZADD z INCR 1 a
         ZADD z inf c
         ZMSCORE z a nope c
         ZPOPMAX z
         ZPOPMIN z 2
         ZPOPMIN z
         ZPOPMIN z 3
         SPOP s
         SPOP s 1
         RPUSH l a
         LPOP l 1
         LPOP l 1
         WATCH k
         SET k v
         MULTI
         EXEC
         ~INFO server
         CONFIG GET hz
         CONFIG GET nope
         COMMAND INFO nope
         EVAL \"return false\" 0
         EVAL \"return true\" 0
         EVAL \"return redis.call('hgetall', 'h')\" 0
         EVAL \"return redis.call('get', 'nope')\" 0
         EVAL \"return {1, false, 'a'}\" 0
         RESET
         GET nope
         HGETALL h",
        "~HELLO 3
         ~HELLO 2
         GET nope
         HGETALL nope
         ~HELLO 3
         GET nope",
    ]);
}
