//! Encodings, and the parameters that bound the compact ones: HSCAN and its relatives return all of
//! a compact value for any COUNT.

use super::check;

/// `HSET h f0 v … `, with fields from one number to another, the end excluded.
fn fields(from: usize, to: usize) -> String {
    let pairs = (from..to).map(|i| format!(" f{i} v"));
    format!("HSET h{}", pairs.collect::<String>())
}

#[test]
fn a_hash_is_compact_up_to_512_fields_of_64_bytes() {
    let (most, more) = (fields(0, 512), fields(512, 513));
    let long = "x".repeat(64);
    check(&[
        &format!(
            "{most}
             OBJECT ENCODING h
             HSCAN h 0 COUNT 10
             HGETALL h
             COPY h c
             {most}
             OBJECT ENCODING h
             {more}
             OBJECT ENCODING h
             OBJECT ENCODING c
             HDEL h f0 f1 f2
             OBJECT ENCODING h"
        ),
        &format!(
            "HSET h {long} {long}
             OBJECT ENCODING h
             HSET h f {long}x
             OBJECT ENCODING h
             HSETNX g {long}x 1
             OBJECT ENCODING g
             HSETNX s f 1
             HSETNX s f {long}x
             OBJECT ENCODING s
             HINCRBY i {long}x 1
             OBJECT ENCODING i"
        ),
    ]);
}

#[test]
fn the_limits_of_hashes_are_parameters() {
    check(&["HSET h a 1 b 2 c 3
         CONFIG SET hash-max-listpack-entries 2
         OBJECT ENCODING h
         HGET h a
         OBJECT ENCODING h
         HSETNX h a 2
         OBJECT ENCODING h
         HSET h a 2
         OBJECT ENCODING h
         HSET g a 1 b 2
         OBJECT ENCODING g
         CONFIG SET hash-max-listpack-entries 0
         HSET z a 1
         OBJECT ENCODING z
         CONFIG SET hash-max-ziplist-entries 512
         CONFIG GET hash-max-listpack-entries
         CONFIG SET hash-max-ziplist-value 3
         CONFIG GET hash-max-listpack-value
         HSET v abc def
         OBJECT ENCODING v
         HINCRBY v n 1000
         OBJECT ENCODING v
         HSET w a abcd
         OBJECT ENCODING w
         HINCRBYFLOAT x a 1.25
         OBJECT ENCODING x
         CONFIG SET hash-max-listpack-value 64
         HSET w a 1
         OBJECT ENCODING w"]);
}

#[test]
fn the_limits_of_sets_and_sorted_sets_are_parameters() {
    check(&[
        "CONFIG GET set-max-intset-entries
         SADD s 1 2 3
         CONFIG SET set-max-intset-entries 2
         OBJECT ENCODING s
         SADD s 1
         OBJECT ENCODING s
         SADD s 4
         OBJECT ENCODING s
         SADD t 1 2
         SADD u 9
         SMOVE u t 9
         OBJECT ENCODING t
         CONFIG SET set-max-intset-entries 0
         SADD v 1
         OBJECT ENCODING v
         CONFIG SET set-max-intset-entries 512",
        "ZADD z 1 a 2 b 3 c
         CONFIG SET zset-max-listpack-entries 2
         OBJECT ENCODING z
         ZADD z 5 a
         ZINCRBY z 1 b
         OBJECT ENCODING z
         ZADD z 1 d
         OBJECT ENCODING z
         ZADD y 1 a 2 b
         OBJECT ENCODING y
         CONFIG SET zset-max-ziplist-entries 0
         ZADD x 1 a
         OBJECT ENCODING x
         ZADD x -0 a
         ZSCORE x a
         CONFIG SET zset-max-ziplist-entries 128
         CONFIG GET zset-max-listpack-entries
         CONFIG SET zset-max-listpack-value 3
         ZADD w 1 abc
         OBJECT ENCODING w
         ZADD w 1 abcd
         OBJECT ENCODING w
         CONFIG SET zset-max-ziplist-value 64",
    ]);
}

#[test]
fn valid_encoding_limits() {
    check(&["CONFIG GET hash-max-ziplist-entries
         CONFIG GET zset-max-ziplist-value
         CONFIG GET list-max-listpack-size
         CONFIG GET list-max-ziplist-size
         CONFIG GET list-compress-depth
         CONFIG SET hash-max-listpack-entries -1
         CONFIG SET hash-max-listpack-entries x
         CONFIG SET hash-max-listpack-value 1kb
         CONFIG GET hash-max-ziplist-value
         CONFIG SET hash-max-listpack-value 64
         CONFIG SET set-max-intset-entries -1
         CONFIG SET zset-max-listpack-value -1
         CONFIG SET list-max-listpack-size x
         CONFIG SET list-max-listpack-size 2147483648
         CONFIG SET list-max-ziplist-size -3
         CONFIG GET list-max-listpack-size
         CONFIG SET list-max-listpack-size -2
         CONFIG SET list-compress-depth -1"]);
}
