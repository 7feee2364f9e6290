//! Sorted sets.

use super::check;

#[test]
fn scores() {
    check(&[
        "ZADD z 1 a 2 b 3 c
         ZADD z 5 a 2 b 4 d
         ZADD z CH 6 a 2 b 5 e
         ZSCORE z a
         ZSCORE z nope
         ZSCORE nope a
         ZMSCORE z a nope b
         ZMSCORE nope a
         ZCARD z
         ZCARD nope
         ZRANK z a
         ZRANK z nope
         ZRANK nope a
         ZREVRANK z a
         ZREVRANK z b
         ZREVRANK z nope
         ZREM z a nope
         ZRANGE z 0 -1 WITHSCORES
         ZREM z b c d e
         EXISTS z
         ZREM z a",
        "ZADD z 0.1 a 1e20 b 1e16 c 1e17 d -0 e 3.0 f 1e-5 g inf h -inf i +inf j 0x10 k .5 l
         ZRANGE z 0 -1 WITHSCORES
         ZADD z 123456789.123456789 a 4503599627370497 b 9007199254740993 c
         ZRANGE z 0 -1 WITHSCORES
         ZADD z nan a
         ZADD z x a
         ZADD z '' a
         ZADD z 1 a x b
         ZADD z 1e400 a
         ZSCORE z a",
        "ZADD z NX 1 a
         ZADD z NX 2 a 2 b
         ZADD z XX 3 a 3 c
         ZADD z XX CH 4 a 3 c
         ZADD nope XX 1 a
         EXISTS nope
         ZADD z GT 3 a
         ZADD z GT CH 5 a 9 n
         ZADD z LT CH 4 a 8 m
         ZADD z LT 9 a
         ZADD z GT XX CH 10 a 10 zz
         ZADD z INCR 1 a
         ZADD z INCR NX 1 a
         ZADD z INCR NX 1 new
         ZADD z INCR XX 1 nope
         ZADD z INCR GT -1 a
         ZADD z INCR LT 1 a
         ZADD z INCR GT 1 a
         ZADD z INCR 0 a
         ZADD z CH INCR 1 a
         ZADD nope XX INCR 1 a
         ZADD z NX XX 1 a
         ZADD z NX GT 1 a
         ZADD z GT LT 1 a
         ZADD z INCR 1 a 2 b
         ZADD z NX
         ZADD z NX 1
         ZADD z 1 a 2
         ZADD z 1
         ZADD z
         ZADD z FOO 1 a
         ZADD z XX x a
         ZRANGE z 0 -1 WITHSCORES",
        "ZINCRBY z 1.5 a
         ZINCRBY z 0.1 a
         ZINCRBY z -5 a
         ZINCRBY z inf a
         ZINCRBY z -inf a
         ZADD z 1 b inf a -inf c
         ZADD z INCR -inf a
         ZINCRBY z x a
         ZINCRBY z nx a
         ZINCRBY z 1
         ZSCORE z a",
    ]);
}

#[test]
fn ranges() {
    check(&[
        "ZADD z 1 a 2 b 3 c 4 d 5 e
         ZRANGE z 0 -1
         ZRANGE z 1 2 WITHSCORES
         ZRANGE z -2 -1
         ZRANGE z 3 1
         ZRANGE z 5 9
         ZRANGE z -100 100
         ZRANGE z 0 1 REV
         ZRANGE z 0 1 REV WITHSCORES
         ZREVRANGE z 0 1
         ZREVRANGE z 3 100 WITHSCORES
         ZREVRANGE z -1 -1
         ZRANGE z 2 4 BYSCORE
         ZRANGE z (2 4 BYSCORE
         ZRANGE z (2 (4 BYSCORE WITHSCORES
         ZRANGE z 4 2 BYSCORE
         ZRANGE z 4 2 BYSCORE REV
         ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2
         ZRANGE z -inf +inf BYSCORE LIMIT 1 2 WITHSCORES
         ZRANGE z -inf inf BYSCORE LIMIT 0 -1
         ZRANGE z -inf inf BYSCORE LIMIT 3 -5
         ZRANGE z -inf inf BYSCORE LIMIT -1 2
         ZRANGE z -inf inf BYSCORE LIMIT 0 0
         ZRANGE z -inf inf BYSCORE LIMIT 9 2
         ZRANGEBYSCORE z 2 4
         ZRANGEBYSCORE z (2 +inf WITHSCORES LIMIT 0 1
         ZREVRANGEBYSCORE z 4 2
         ZREVRANGEBYSCORE z +inf (2 LIMIT 1 1 WITHSCORES
         ZREVRANGEBYSCORE z 2 4
         ZCOUNT z 2 4
         ZCOUNT z (2 (4
         ZCOUNT z 4 2
         ZCOUNT z -inf +inf
         ZCOUNT nope 0 1
         ZRANGE nope 0 -1
         ZRANGEBYSCORE nope 0 1",
        "ZADD z 0 a 0 b 0 c 0 d
         ZRANGE z - + BYLEX
         ZRANGE z [b [c BYLEX
         ZRANGE z (a (d BYLEX
         ZRANGE z + - BYLEX REV
         ZRANGE z [c [b BYLEX REV LIMIT 0 1
         ZRANGE z [c + BYLEX LIMIT 1 5
         ZRANGE z + - BYLEX
         ZRANGE z [a [a BYLEX
         ZRANGE z ( [b BYLEX
         ZRANGEBYLEX z - [b
         ZREVRANGEBYLEX z + (b
         ZLEXCOUNT z [b +
         ZLEXCOUNT z x +
         ZLEXCOUNT nope - +
         ZRANGE z a b BYLEX
         ZRANGE z -x + BYLEX
         ZRANGE z '' + BYLEX
         ZRANGE z 1 2 BYLEX
         ZREMRANGEBYLEX z (a (c
         ZREMRANGEBYLEX z x y
         ZREMRANGEBYLEX nope - +
         ZRANGE z 0 -1",
        "ZADD z 1 a
         ZRANGE z 0 1 LIMIT 0 1
         ZRANGE z 0 1 LIMIT 0 -1
         ZRANGE z - + BYLEX WITHSCORES
         ZRANGE z 0 1 BYLEX BYSCORE
         ZRANGE z 0 1 BYSCORE BYSCORE
         ZRANGE z 0 1 REV REV
         ZRANGE z 0 1 FOO
         ZRANGE z x 1
         ZRANGE z 0 x
         ZRANGE z x 1 BYSCORE
         ZRANGE z nan 1 BYSCORE
         ZRANGE z (x 1 BYSCORE
         ZRANGE z ( 1 BYSCORE
         ZRANGE z '' 1 BYSCORE
         ZRANGE z 0x0 0x10 BYSCORE
         ZRANGE z 0 1e999 BYSCORE
         ZRANGE z 0 1 BYSCORE LIMIT x 1
         ZRANGE z 0 1 BYSCORE LIMIT 1 x
         ZRANGE z 0 1 BYSCORE LIMIT 1
         ZRANGEBYSCORE z 0 1 REV
         ZRANGEBYSCORE z 0 1 BYLEX
         ZREVRANGE z 0 1 BYSCORE
         ZREVRANGE z 0 1 LIMIT 0 1
         ZRANGEBYLEX z - + WITHSCORES
         ZRANGE nope x 1
         ZRANGE z 0
         ZCOUNT z x 1
         ZCOUNT z 0",
        "ZADD z 1 a 2 b 3 c 4 d 5 e
         ZREMRANGEBYSCORE z 2 (4
         ZREMRANGEBYSCORE z x 1
         ZREMRANGEBYSCORE nope 1 2
         ZREMRANGEBYSCORE z 9 10
         ZRANGE z 0 -1
         ZREMRANGEBYRANK z 1 1
         ZREMRANGEBYRANK z x 1
         ZREMRANGEBYRANK z 5 9
         ZREMRANGEBYRANK nope 0 1
         ZRANGE z 0 -1
         ZREMRANGEBYRANK z 0 -1
         EXISTS z
         ZADD z 1 a
         ZREMRANGEBYSCORE z -inf inf
         EXISTS z",
    ]);
}

#[test]
fn popped() {
    check(&["ZADD z 1 a 2 b 3 c 4 d 5 e
         ZPOPMIN z
         ZPOPMAX z
         ZPOPMIN z 2
         ZPOPMAX z 0
         ZPOPMIN z -1
         ZPOPMIN z x
         ZPOPMIN z 1 2
         ZPOPMAX nope
         ZPOPMAX nope 2
         ZPOPMAX nope -1
         ZPOPMAX z 100
         EXISTS z
         ZADD z 1 a 1 b 0 c -0 d
         ZPOPMAX z 2
         ZPOPMIN z 2"]);
}

#[test]
fn the_first_of_several() {
    check(&["ZADD b 1 w 2 x 3 y 4 z
         ZMPOP 2 a b MIN
         ZMPOP 2 a b MAX COUNT 2
         ZMPOP 1 a MIN
         ZMPOP 2 b b MIN COUNT 10
         EXISTS b
         ZMPOP 0 a MIN
         ZMPOP x a MIN
         ZMPOP 2 a MIN
         ZMPOP 1 a UP
         ZMPOP 1 a MIN COUNT 0
         ZMPOP 1 a MIN COUNT
         ZMPOP 1 a MIN FOO 1
         SET s x
         ZMPOP 2 a s MIN
         ZMPOP 1 a"]);
}

#[test]
fn wrong_types() {
    check(&["SET s x
         ZADD s 1 a
         ZADD s XX 1 a
         ZADD s x a
         ZINCRBY s 1 a
         ZREM s a
         ZSCORE s a
         ZMSCORE s a
         ZCARD s
         ZRANK s a
         ZREVRANK s a
         ZPOPMIN s
         ZPOPMAX s 1
         ZPOPMAX s 0
         ZPOPMAX s -1
         ZRANGE s 0 1
         ZRANGE s x 1
         ZRANGE s 0 1 FOO
         ZREVRANGE s 0 1
         ZRANGEBYSCORE s 0 1
         ZRANGEBYLEX s - +
         ZCOUNT s 0 1
         ZCOUNT s x 1
         ZLEXCOUNT s - +
         ZREMRANGEBYRANK s 0 1
         ZREMRANGEBYSCORE s 0 1
         ZREMRANGEBYLEX s - +"]);
}
