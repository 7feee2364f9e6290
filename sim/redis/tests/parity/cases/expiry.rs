//! Times to live.

use super::check;

#[test]
fn expiry() {
    check(&[
        "EXPIRE a 100
         SET a 1
         TTL a
         PTTL a
         EXPIRE a 100
         ≈PTTL a
         TTL a
         PERSIST a
         PERSIST a
         PTTL a
         PERSIST b
         TTL b
         PTTL b",
        "SET a 1
         PEXPIRE a 100000
         ≈PTTL a
         EXPIREAT a 4102444800
         ≈PTTL a
         PEXPIREAT a 4102444800123
         ≈PTTL a",
        "SET a 1
         EXPIRE a 0
         EXISTS a
         SET a 1
         EXPIRE a -1
         EXISTS a
         SET a 1
         PEXPIRE a -100
         EXISTS a
         SET a 1
         EXPIREAT a 1
         EXISTS a
         SET a 1
         PEXPIREAT a 0
         EXISTS a
         DBSIZE",
        "SET a 1
         EXPIRE a 100 XX
         EXPIRE a 100 GT
         PTTL a
         EXPIRE a 500 LT
         ≈PTTL a
         EXPIRE a 100 NX
         EXPIRE a 1000 GT
         ≈PTTL a
         EXPIRE a 100 GT
         EXPIRE a 2000 LT
         ≈PTTL a
         EXPIRE a 100 XX LT
         EXPIRE a 2000 XX GT
         EXPIRE a 3000 gt XX gt
         ≈PTTL a
         EXPIREAT a 4102444800 NX
         EXPIREAT a 4102444800
         EXPIREAT a 4102444800 GT
         EXPIREAT a 4102444800 LT
         EXPIREAT a 1 GT
         EXPIREAT a 1 NX
         EXPIREAT a 1 LT
         EXISTS a",
        "EXPIRE a 1 NX XX
         EXPIRE a 1 NX GT
         EXPIRE a 1 NX LT
         EXPIRE a 1 GT LT
         EXPIRE a 1 FOO
         EXPIRE a x FOO
         EXPIRE a x
         EXPIRE a 1 NX FOO
         EXPIRE a
         PEXPIRE a
         EXPIREAT a
         PEXPIREAT a
         EXPIRE a 9223372036854775807
         EXPIRE a -9223372036854775808
         EXPIRE a 9223372036854775
         EXPIRE a -9223372036854775
         PEXPIRE a 9223372036854775807
         PEXPIRE a -9223372036854775808
         EXPIREAT a 9223372036854775807
         PEXPIREAT a 9223372036854775807
         TTL
         PTTL a b
         PERSIST",
        "SET a 1 PXAT 1
         DBSIZE
         GET a
         DBSIZE
         SET a 1 PX 5
         SET b 1
         sleep 30
         DBSIZE
         TTL a
         DBSIZE",
        "SET a 1 PX 5
         SET b 1
         PEXPIRE b 5
         SET c 1 PX 5
         SET d 1 PX 5
         SET e 1 PX 100000
         sleep 30
         GET a
         SET b 2 NX
         PTTL b
         EXISTS c
         DEL d
         INCR d
         PTTL d
         EXPIRE a 100
         PERSIST a
         GETSET a 1
         PTTL a",
    ]);
}
