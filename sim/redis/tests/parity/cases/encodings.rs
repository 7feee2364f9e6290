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
             {most}
             OBJECT ENCODING h
             {more}
             OBJECT ENCODING h
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
