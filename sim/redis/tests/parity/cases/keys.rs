//! Keys of any type: TYPE, OBJECT, RENAME, COPY, KEYS, SCAN.

use super::check;

#[test]
fn types() {
    check(&[
        "SET s x
         HSET h a 1
         RPUSH l a
         SADD e a
         ZADD z 1 a
         TYPE s
         TYPE h
         TYPE l
         TYPE e
         TYPE z
         TYPE nope
         TYPE
         OBJECT ENCODING s
         OBJECT ENCODING h
         OBJECT ENCODING l
         OBJECT ENCODING e
         OBJECT ENCODING z
         OBJECT ENCODING nope
         OBJECT REFCOUNT s
         OBJECT REFCOUNT nope
         OBJECT IDLETIME s
         OBJECT IDLETIME nope
         OBJECT FREQ s
         OBJECT FREQ nope
         OBJECT
         OBJECT NOPE
         OBJECT NOPE s
         OBJECT ENCODING
         OBJECT ENCODING s x
         TOUCH s h nope s
         TOUCH
         SET s aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
         OBJECT ENCODING s
         SET s aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
         OBJECT ENCODING s
         SET s 123
         OBJECT ENCODING s
         OBJECT REFCOUNT s
         SET s 9999
         OBJECT REFCOUNT s
         INCR s
         OBJECT REFCOUNT s
         SET s 9223372036854775808
         OBJECT ENCODING s
         SET s 01
         OBJECT ENCODING s
         SET s ''
         OBJECT ENCODING s
         INCRBYFLOAT f 1.5
         OBJECT ENCODING f",
        "HSET h a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
         OBJECT ENCODING h
         HSET h a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
         OBJECT ENCODING h
         HSET h a 1
         OBJECT ENCODING h
         ZADD z 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
         OBJECT ENCODING z
         SADD s 1
         OBJECT ENCODING s
         SADD s a
         OBJECT ENCODING s",
        "EVAL for\ti=1,128\tdo\tredis.call('hset','h',i,i)redis.call('zadd','z',i,i)end 0
         OBJECT ENCODING h
         OBJECT ENCODING z
         HSET h more 1
         ZADD z 1 more
         OBJECT ENCODING h
         OBJECT ENCODING z
         HDEL h more
         ZREM z more
         OBJECT ENCODING h
         OBJECT ENCODING z
         EVAL for\ti=1,512\tdo\tredis.call('sadd','s',i)end 0
         OBJECT ENCODING s
         SADD s 513
         OBJECT ENCODING s
         ?SMEMBERS s
         ?HGETALL h",
    ]);
}

#[test]
fn names() {
    check(&[
        "SET a 1 PX 100000
         SET b 2
         RENAME a b
         GET b
         ≈PTTL b
         RENAME nope b
         RENAME nope nope
         RENAME b b
         RENAMENX b b
         RENAMENX nope b
         SET c 3
         RENAMENX b c
         RENAMENX b d
         GET d
         ≈PTTL d
         RENAME a
         HSET h f v
         RENAME h c
         TYPE c
         PTTL c",
        "SET a 1 PX 100000
         COPY a b
         ≈PTTL b
         COPY a b
         SET b 2
         COPY a b REPLACE
         GET b
         ≈PTTL b
         COPY a a
         COPY nope nope
         COPY nope x
         COPY a c DB 0
         COPY a c DB 0 REPLACE
         COPY a d DB 1
         COPY a d DB x
         COPY a d DB 99999999999
         COPY a d DB
         COPY a d NOPE
         COPY a
         RPUSH l 1 2
         COPY l m
         RPUSH m 3
         LRANGE l 0 -1
         LRANGE m 0 -1",
    ]);
}

#[test]
fn scans() {
    check(&[
        "MSET a 1 b 2 hello 3 hallo 4
         SADD s x
         HSET h f v
         ?KEYS *
         ?KEYS h?llo
         ?KEYS h[ae]*
         ?KEYS nope*
         ?KEYS [^a]
         KEYS
         SET gone 1 PXAT 1
         ?KEYS *
         ?SCAN 0 COUNT 1000
         ?SCAN 0 COUNT 1000 MATCH h*
         ?SCAN 0 COUNT 1000 TYPE string
         ?SCAN 0 TYPE HASH MATCH h count 1000
         ?SCAN 0 COUNT 1000 TYPE nope
         SCAN x
         SCAN -x
         SCAN 1.5
         SCAN 99999999999999999999
         ?SCAN '' COUNT 1000
         ?SCAN +0 COUNT 1000
         ?SCAN -0 COUNT 1000
         SCAN 0 COUNT 0
         SCAN 0 COUNT -1
         SCAN 0 COUNT x
         SCAN 0 COUNT
         SCAN 0 MATCH
         SCAN 0 NOPE x
         SCAN 0 NOPE
         SCAN
         ~RANDOMKEY
         FLUSHALL
         RANDOMKEY
         KEYS *
         SCAN 0",
        "SET gone 1 PXAT 1
         SET here 1
         DBSIZE
         SCAN 0 COUNT 1000 TYPE hash
         DBSIZE
         DEL here
         SET gone 1 PXAT 1
         RANDOMKEY
         DBSIZE",
        "HSET h a 1 b 2 c 3
         HSCAN h 0
         HSCAN h 0 COUNT 1
         HSCAN h 0 MATCH [ab]
         HSCAN h 5
         HSCAN h x
         HSCAN nope 0
         HSCAN nope x
         HSCAN nope 0 COUNT 0
         HSCAN h 0 COUNT 0
         HSCAN h 0 TYPE hash
         HSCAN h
         SADD s 3 1 2
         SSCAN s 0
         SSCAN s 0 MATCH 1
         SADD s x
         ?SSCAN s 0 COUNT 100
         ZADD z 1 a 2.5 b 3 c inf d
         ZSCAN z 0
         ZSCAN z 0 MATCH b
         SET str x
         HSCAN str 0
         SSCAN str 0
         ZSCAN str 0
         HSCAN str x
         HSCAN str 0 COUNT 0
         HSCAN s 0",
    ]);
}
