//! Values: SET and its options, GET and related commands, counters.

use super::check;

#[test]
fn strings() {
    check(&[
        "GET a
         SET a 1
         GET a
         get a
         SET a ''
         GET a
         SET '' x
         GET ''",
        "SETNX a 1
         SETNX a 2
         GET a
         SETNX a
         SETNX a 1 2",
        "GETSET a 1
         PEXPIRE a 100000
         GETSET a 2
         PTTL a
         GETDEL a
         GETDEL a
         EXISTS a",
        "SET a 1
         SET b 2
         EXISTS a b c a
         DEL a c
         UNLINK b b
         DBSIZE
         DEL
         UNLINK
         EXISTS",
        "GET
         GET a b
         SET a
         GETSET a
         GETDEL
         GETDEL a b",
        "SETEX a 100 x
         ≈PTTL a
         PSETEX a 100000 y
         ≈PTTL a
         SETEX a 0 x
         SETEX a -1 x
         SETEX a z x
         PSETEX a 0 x
         SETEX a 9223372036854775807 x
         PSETEX a 9223372036854775807 x
         SETEX a 1
         GET a",
    ]);
}

#[test]
fn set_options() {
    check(&[
        "SET a 1 NX
         SET a 2 NX
         SET a 3 XX
         SET b 1 XX
         GET a
         GET b",
        "SET a 1 GET
         SET a 2 GET
         SET a 3 NX GET
         SET b 1 NX GET
         SET c 1 XX GET
         SET a 4 XX GET
         GET a
         GET b
         GET c",
        "SET a 1 EX 100
         ≈PTTL a
         SET a 1 KEEPTTL
         ≈PTTL a
         SET a 1 XX KEEPTTL GET
         ≈PTTL a
         SET a 1
         PTTL a
         SET a 1 PX 100000
         TTL a
         SET a 1 EXAT 4102444800
         ≈PTTL a
         SET a 1 PXAT 4102444800000
         ≈PTTL a
         set a 1 px 5000 nx
         set a 1 Px 5000 xX
         ≈PTTL a",
        "SET a 1 EXAT 1
         GET a
         SET a 1 PXAT 1
         EXISTS a
         SET a 1 NX PXAT 5
         SET a 2 NX
         GET a",
        "SET a 1 NX XX
         SET a 1 XX NX
         SET a 1 EX
         SET a 1 PX
         SET a 1 EX 1 PX 1
         SET a 1 EX 1 EX 1
         SET a 1 EX 1 KEEPTTL
         SET a 1 KEEPTTL EX 1
         SET a 1 KEEPTTL KEEPTTL
         SET a 1 NX NX
         SET a 1 GET GET
         SET a 1 FOO
         SET a 1 PERSIST
         SET a 1 EX 10 FOO
         SET a 1 EX NX
         SET a 1 EX 10 NX XX",
        "SET a 1 EX 0
         SET a 1 EX -1
         SET a 1 PX 0
         SET a 1 EXAT 0
         SET a 1 PXAT -5
         SET a 1 EX x
         SET a 1 EX 1.5
         SET a 1 EX ''
         SET a 1 EX 9223372036854775807
         SET a 1 EX 9223372036854775
         SET a 1 EX 9223372036854776
         SET a 1 PX 9223372036854775807
         SET a 1 PX 9223372036854775808
         SET a 1 EXAT 9223372036854775807
         SET a 1 EX 0 GET
         GET a",
        "SET a 1
         SET a 2 NX EX 0
         SET a 2 XX EX x",
    ]);
}

#[test]
fn integers() {
    check(&[
        "INCR a
         INCRBY a 10
         DECR a
         DECRBY a 5
         GET a
         INCRBY a -100
         DECRBY a -1",
        "SET a 1 PX 100000
         INCR a
         ≈PTTL a",
        "SET a x
         INCR a
         DECR a
         INCRBY a 1
         SET a 1.5
         INCR a
         SET a ''
         INCR a
         SET a 01
         INCR a
         SET a +1
         INCR a
         SET a -0
         INCR a
         SET a 9223372036854775808
         INCR a",
        "SET a 9223372036854775807
         INCR a
         DECRBY a -1
         INCRBY a 9223372036854775807
         DECR a
         SET a -9223372036854775808
         DECR a
         DECRBY a -9223372036854775808
         DECRBY a 9223372036854775807
         INCRBY a x
         DECRBY a x
         INCRBY a 9223372036854775808
         INCR
         INCRBY a
         DECR a b
         DECRBY a 1 2
         GET a",
    ]);
}
