//! Sets. Redis lists sets with anything but integers in no defined order, and draws members
//! at random; such replies are compared as far as they are determined.

use super::check;

#[test]
fn members() {
    check(&[
        "SADD s a b a
         SADD s b c
         ?SMEMBERS s
         SCARD s
         SISMEMBER s a
         SISMEMBER s z
         SISMEMBER nope a
         SMISMEMBER s a z b
         SMISMEMBER nope a b
         SREM s a z
         ?SMEMBERS s
         SREM s b c
         EXISTS s
         SREM s a
         SCARD s
         SMEMBERS s
         SADD s
         SREM s
         SCARD
         SISMEMBER s
         SMISMEMBER s",
        "SADD s 3 1 2 -5 10
         SMEMBERS s
         OBJECT ENCODING s
         SISMEMBER s 01
         SISMEMBER s 1
         SREM s 01 2
         SMEMBERS s
         SADD s x
         ?SMEMBERS s
         OBJECT ENCODING s
         SREM s x
         OBJECT ENCODING s",
        "SADD a x y 1
         SADD b y
         SMOVE a b x
         SMOVE a b x
         SMOVE a b y
         SMOVE a a 1
         SMOVE a a z
         SMOVE nope a 1
         SMOVE a new 1
         EXISTS a
         ?SMEMBERS b
         SMEMBERS new
         SMOVE a b",
    ]);
}

#[test]
fn drawn_by_chance() {
    check(&[
        "SADD s a b c d
         ~SPOP s
         SCARD s
         ~SPOP s 2
         SCARD s
         SPOP s 0
         SPOP s -1
         SPOP s x
         SPOP s 1 2
         ~SPOP s 10
         EXISTS s
         SPOP s
         SPOP s 1
         SPOP nope -1",
        "SADD s a b c
         ~SRANDMEMBER s
         ~SRANDMEMBER s 2
         ?SRANDMEMBER s 3
         ?SRANDMEMBER s 10
         ~SRANDMEMBER s -7
         SRANDMEMBER s 0
         SRANDMEMBER s x
         SRANDMEMBER s -9223372036854775808
         SRANDMEMBER s 1 2
         SRANDMEMBER nope
         SRANDMEMBER nope 1
         SRANDMEMBER nope -1
         SCARD s",
        "SADD s only
         SRANDMEMBER s
         SRANDMEMBER s -2
         SPOP s
         EXISTS s",
    ]);
}

#[test]
fn wrong_types() {
    check(&["SET s x
         SADD t a
         SADD s a
         SREM s a
         SMEMBERS s
         SCARD s
         SISMEMBER s a
         SMISMEMBER s a
         SPOP s
         SPOP s 1
         SPOP s x
         SRANDMEMBER s
         SRANDMEMBER s 1
         SRANDMEMBER s x
         SMOVE s t a
         SMOVE t s a
         SMOVE t s z
         SMOVE nope s a
         SMEMBERS t"]);
}
