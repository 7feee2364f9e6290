//! Hashes.

use super::check;

#[test]
fn fields() {
    check(&[
        "HSET h a 1 b 2
         HSET h b 3 c 4 c 5
         HGET h a
         HGET h c
         HGET h nope
         HGET nope a
         HMGET h a nope c
         HMGET nope a b
         HGETALL h
         HKEYS h
         HVALS h
         HLEN h
         HEXISTS h a
         HEXISTS h z
         HEXISTS nope a
         HSTRLEN h a
         HSTRLEN h z
         HDEL h a z
         HGETALL h
         HDEL h b c
         EXISTS h
         HDEL h b
         HGETALL h
         HKEYS h
         HVALS h
         HLEN h",
        "HMSET h a 1 b 2
         HMSET h a
         HMSET h a 1 b
         HSET h a 1 b
         HSET h a
         HSET h
         HSETNX h a 9
         HSETNX h c 9
         HSETNX n c 9
         HSETNX n c
         HGETALL h
         HGET h
         HMGET h
         HDEL h
         HGETALL
         HLEN
         HINCRBY h a",
        "HSET h '' ''
         HGET h ''
         HGETALL h
         PEXPIRE h 100000
         HSET h a 1
         HDEL h ''
         ≈PTTL h
         HDEL h a
         PTTL h",
    ]);
}

#[test]
fn counters() {
    check(&[
        "HINCRBY h a 5
         HINCRBY h a -7
         HGET h a
         HINCRBY h a x
         HINCRBY h a 1.5
         HSET h b x
         HINCRBY h b 1
         HSET h b 9223372036854775807
         HINCRBY h b 1
         HINCRBY h b -9223372036854775808
         HINCRBY h b 9223372036854775808
         HINCRBY h c 0
         HGETALL h",
        "HINCRBYFLOAT h a 0.1
         HINCRBYFLOAT h a 0.2
         HINCRBYFLOAT h a 1e5
         HINCRBYFLOAT h a -1e5
         HINCRBYFLOAT h b 3.0e3
         HINCRBYFLOAT h b x
         HINCRBYFLOAT h b nan
         HINCRBYFLOAT h b inf
         HINCRBYFLOAT h b ''
         HSET h c x
         HINCRBYFLOAT h c 1
         HSET h c inf
         HINCRBYFLOAT h c 1
         HINCRBYFLOAT h d 1e30
         HINCRBYFLOAT h d 1e4931
         HINCRBYFLOAT h e 1e-18
         HINCRBYFLOAT h e 5e-18
         HINCRBYFLOAT h f 1.0000000000000000005
         ?HGETALL h",
    ]);
}

#[test]
fn wrong_types() {
    check(&[
        "SET s x
         HSET s a 1
         HMSET s a 1
         HSETNX s a 1
         HGET s a
         HMGET s a
         HGETALL s
         HKEYS s
         HVALS s
         HLEN s
         HEXISTS s a
         HSTRLEN s a
         HDEL s a
         HINCRBY s a 1
         HINCRBY s a x
         HINCRBYFLOAT s a 1
         HINCRBYFLOAT s a x
         HSET s a
         GET s",
        "HSET h a 1
         GET h
         GETSET h x
         GETDEL h
         GETEX h
         SET h x GET
         SET h x XX GET
         SETNX h x
         INCR h
         INCRBY h 1
         INCRBY h x
         INCRBYFLOAT h 1
         INCRBYFLOAT h x
         APPEND h x
         STRLEN h
         GETRANGE h 0 1
         GETRANGE h x 1
         SETRANGE h 0 x
         SETRANGE h -1 x
         SETRANGE h 0 ''
         MGET h nope
         SET h x
         GET h",
    ]);
}
