//! Strings: several keys in one command, parts of values, and floating-point counters.

use super::check;

#[test]
fn several_keys_in_one_command() {
    check(&["MSET a 1 b 2
         MGET a b c
         MSET a
         MSET a 1 b
         MSETNX a 5 c 6
         MSETNX c 5 d 6 c 7
         MGET a c d
         MSETNX a 1 b
         MSETNX x 1 y
         MSETNX x
         HSET h f v
         MGET a h b
         MSET h now
         GET h
         PEXPIRE a 100000
         MSET a 2
         PTTL a
         MGET"]);
}

#[test]
fn parts() {
    check(&[
        "APPEND a hello
         APPEND a ''
         APPEND a world
         GET a
         STRLEN a
         STRLEN nope
         PEXPIRE a 100000
         APPEND a x
         ≈PTTL a
         APPEND new ''
         EXISTS new
         APPEND a
         STRLEN",
        "SET a hello
         GETRANGE a 0 1
         GETRANGE a -3 -1
         GETRANGE a 0 -1
         GETRANGE a 3 100
         GETRANGE a 5 9
         GETRANGE a 3 1
         GETRANGE a -1 -3
         GETRANGE a -100 -50
         GETRANGE a -100 2
         GETRANGE a 0 -100
         GETRANGE a 9223372036854775807 9223372036854775807
         GETRANGE a -9223372036854775808 9223372036854775807
         GETRANGE a x 1
         GETRANGE a 1 x
         GETRANGE nope 0 1
         SUBSTR a 1 2
         GETRANGE a 1",
        "SETRANGE a 3 xyz
         GET a
         SETRANGE a 0 A
         SETRANGE a 10 ''
         SETRANGE nope 5 ''
         EXISTS nope
         SETRANGE a -1 x
         SETRANGE a x x
         SETRANGE a 536870912 x
         SETRANGE a 536870911 xx
         SETRANGE a 9223372036854775807 x
         SETRANGE nope 9223372036854775807 ''
         GET a",
    ]);
}

#[test]
fn getex() {
    check(&["GETEX a
         SET a 1
         GETEX a
         GETEX a EX 100
         ≈PTTL a
         GETEX a PX 100000
         ≈PTTL a
         GETEX a
         ≈PTTL a
         GETEX a PERSIST
         PTTL a
         GETEX a PERSIST
         GETEX a EXAT 4102444800
         EXPIRETIME a
         PEXPIRETIME a
         GETEX a PXAT 4102444800499
         EXPIRETIME a
         GETEX a PXAT 4102444800500
         EXPIRETIME a
         PEXPIRETIME a
         GETEX a EX 0
         GETEX a EX x
         GETEX nope EX 0
         GETEX a EX 1 PX 1
         GETEX a EX 1 PERSIST
         GETEX a PERSIST EX 1
         GETEX a PERSIST PERSIST
         GETEX a EX 100 EX 100
         GETEX a NX
         GETEX a GET
         GETEX a KEEPTTL
         GETEX a EX
         GETEX a EX 9223372036854775807
         GETEX a PXAT 5
         EXISTS a
         EXPIRETIME a
         SET a 1
         EXPIRETIME a
         PEXPIRETIME a
         GETEX
         EXPIRETIME"]);
}

#[test]
fn floats() {
    check(&[
        "INCRBYFLOAT a 0.1
         INCRBYFLOAT a 0.2
         INCRBYFLOAT a 10.5e2
         INCRBYFLOAT a -1050.3
         GET a
         INCRBYFLOAT a -1
         INCRBYFLOAT a +1
         INCRBYFLOAT a 0x10
         INCRBYFLOAT a -0x1.8p1
         INCRBYFLOAT a .5
         INCRBYFLOAT a 5.
         INCRBYFLOAT a 1e-17
         INCRBYFLOAT a 1e-20
         INCRBYFLOAT a 123456789.123456789
         INCRBYFLOAT a 1e17
         INCRBYFLOAT a 12345678901234567890",
        "SET a 3.0e3
         INCRBYFLOAT a 200
         SET a 1.50
         INCRBYFLOAT a 0
         SET a -0
         INCRBYFLOAT a 0
         INCRBYFLOAT a -0.0
         SET a 1e4000
         INCRBYFLOAT a 1e4000
         SET a 1e5000
         INCRBYFLOAT a 1
         SET a 1e-5000
         INCRBYFLOAT a 1
         SET a inf
         INCRBYFLOAT a 1
         INCRBYFLOAT a -inf
         SET a 5
         INCRBYFLOAT a inf
         INCRBYFLOAT a nan
         INCRBYFLOAT a x
         INCRBYFLOAT a 1x
         INCRBYFLOAT a ''
         SET a ''
         INCRBYFLOAT a 1
         SET a x
         INCRBYFLOAT a x
         PEXPIRE a 100000
         SET a 1 KEEPTTL
         INCRBYFLOAT a 1
         ≈PTTL a
         INCRBYFLOAT a",
    ]);
}
