//! Lists.

use super::check;

#[test]
fn ends() {
    check(&[
        "LPUSH l a b c
         RPUSH l d e
         LRANGE l 0 -1
         LLEN l
         LPOP l
         RPOP l
         LPUSHX l x y
         RPUSHX l z
         LPUSHX nope x
         RPUSHX nope x
         EXISTS nope
         LRANGE l 0 -1
         LPOP l 2
         RPOP l 100
         EXISTS l
         LPOP l
         RPOP l
         LPOP l 1
         LPOP l 0
         RPUSH l a
         LPOP l 0
         RPOP l 0
         LPOP l -1
         LPOP l x
         LPOP nope -1
         LPOP l 1 2
         LPOP l 9223372036854775808
         LPOP
         LPUSH l
         LLEN nope
         LLEN",
        "RPUSH a 1 2 3
         LMOVE a b LEFT RIGHT
         LMOVE a b right left
         LMOVE a a LEFT RIGHT
         LRANGE a 0 -1
         LRANGE b 0 -1
         LMOVE a b UP LEFT
         LMOVE a b LEFT UP
         LMOVE a b LEFT
         LMOVE nope b LEFT LEFT
         RPOPLPUSH b b
         LRANGE b 0 -1
         RPOPLPUSH a b
         RPOPLPUSH a b
         EXISTS a
         LRANGE b 0 -1
         PEXPIRE b 100000
         DEL a
         RPUSH one 1
         PEXPIRE one 100000
         RPOPLPUSH one one
         ≈PTTL one
         LPOP one
         TTL one",
    ]);
}

#[test]
fn places() {
    check(&[
        "RPUSH l a b c d e
         LINDEX l 0
         LINDEX l -1
         LINDEX l 4
         LINDEX l 5
         LINDEX l -5
         LINDEX l -6
         LINDEX l x
         LINDEX nope x
         LINDEX l 9223372036854775807
         LINDEX l -9223372036854775808
         LRANGE l 1 2
         LRANGE l -2 -1
         LRANGE l 3 1
         LRANGE l 5 9
         LRANGE l -100 100
         LRANGE l -100 -100
         LRANGE l 0 -9223372036854775808
         LRANGE l 9223372036854775807 9223372036854775807
         LRANGE l x 1
         LRANGE l 1 x
         LRANGE nope 0 -1
         LRANGE nope x 1
         LSET l 0 A
         LSET l -1 E
         LSET l 9 x
         LSET l x x
         LSET nope 0 x
         LRANGE l 0 -1",
        "RPUSH l a b c d e
         LTRIM l 1 3
         LRANGE l 0 -1
         LTRIM l -2 -1
         LRANGE l 0 -1
         LTRIM l 0 100
         LRANGE l 0 -1
         LTRIM l x 1
         LTRIM nope 0 1
         LTRIM l 5 1
         EXISTS l
         RPUSH l a b c
         LTRIM l 1 -100
         EXISTS l",
        "RPUSH l a b a c a b
         LREM l 1 a
         LRANGE l 0 -1
         LREM l -1 b
         LRANGE l 0 -1
         LREM l 0 z
         LREM l x a
         LREM l -9223372036854775808 a
         LREM nope 1 a
         LREM l 0 a
         LRANGE l 0 -1
         LREM l 5 b
         LREM l -9223372036854775807 c
         EXISTS l",
        "RPUSH l a b c
         LINSERT l BEFORE b x
         LINSERT l after c y
         LINSERT l BEFORE nope x
         LINSERT nope BEFORE a x
         LINSERT l AT a x
         LINSERT l BEFORE a
         LRANGE l 0 -1",
        "RPUSH l a b c 1 2 3 c c
         LPOS l c
         LPOS l nope
         LPOS l c RANK 2
         LPOS l c RANK -1
         LPOS l c RANK -4
         LPOS l c COUNT 2
         LPOS l c COUNT 0
         LPOS l c RANK -1 COUNT 2
         LPOS l c RANK 2 COUNT 0
         LPOS l c COUNT 0 MAXLEN 4
         LPOS l c RANK -1 COUNT 0 MAXLEN 1
         LPOS l c MAXLEN 2
         LPOS l c MAXLEN 0
         LPOS l nope COUNT 2
         LPOS nope c
         LPOS nope c COUNT 1
         LPOS l c RANK 0
         LPOS l c RANK x
         LPOS l c RANK -9223372036854775808
         LPOS l c COUNT -1
         LPOS l c COUNT x
         LPOS l c MAXLEN -1
         LPOS l c NOPE 1
         LPOS l c RANK
         LPOS l c rank 1 COUNT
         LPOS l",
    ]);
}

#[test]
fn the_first_of_several() {
    check(&["RPUSH b 1 2 3 4
         LMPOP 2 a b LEFT
         LMPOP 2 a b RIGHT COUNT 2
         LMPOP 1 a LEFT
         LMPOP 2 b b LEFT COUNT 10
         EXISTS b
         LMPOP 0 a LEFT
         LMPOP -1 a LEFT
         LMPOP x a LEFT
         LMPOP 2 a LEFT
         LMPOP 1 a UP
         LMPOP 1 a LEFT COUNT 0
         LMPOP 1 a LEFT COUNT x
         LMPOP 1 a LEFT COUNT
         LMPOP 1 a LEFT FOO 1
         LMPOP 1 a LEFT COUNT 1 COUNT 1
         SET s x
         LMPOP 2 a s LEFT
         LMPOP 1 a"]);
}

#[test]
fn wrong_types() {
    check(&["SET s x
         LPUSH s a
         RPUSH s a
         LPUSHX s a
         RPUSHX s a
         LPOP s
         RPOP s 1
         LPOP s 0
         LPOP s -1
         LLEN s
         LINDEX s 0
         LINDEX s x
         LSET s 0 x
         LRANGE s 0 1
         LRANGE s x 1
         LTRIM s 0 1
         LREM s 0 x
         LINSERT s BEFORE a b
         LINSERT s X a b
         LPOS s a
         LPOS s a RANK 0
         LMOVE s l LEFT LEFT
         RPUSH l a
         LMOVE l s LEFT LEFT
         RPOPLPUSH l s
         RPOPLPUSH nope s
         LRANGE l 0 -1
         GET l"]);
}
