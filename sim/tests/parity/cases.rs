//! Command sequences, a line each, that both servers have to answer alike.
//!
//! A line is a request on the first connection, or on the second if it starts
//! with `2:`. A line that starts with `~` compares the shapes of the replies only,
//! and one with `≈` lets integers differ by two seconds in milliseconds.
//! `sleep N` waits N milliseconds.

use std::time::Duration;

use crate::pair::Pair;
use crate::wire::Likeness;

fn check(cases: &[&str]) {
    let mut pair = Pair::start(2);
    let mut failures = Vec::new();
    for case in cases {
        pair.clear();
        for line in case.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(ms) = line.strip_prefix("sleep ") {
                let ms = ms.parse().expect("a line `sleep N` has a number");
                std::thread::sleep(Duration::from_millis(ms));
                continue;
            }
            let (connection, line) = match line.strip_prefix("2:") {
                Some(line) => (1, line.trim()),
                None => (0, line),
            };
            let (likeness, line) = if let Some(line) = line.strip_prefix('~') {
                (Likeness::Shape, line)
            } else if let Some(line) = line.strip_prefix('≈') {
                (Likeness::Within(2000), line)
            } else {
                (Likeness::Bytes, line)
            };
            let words: Vec<&[u8]> = line.split_whitespace().map(word).collect();
            if let Err(difference) = pair.compare(connection, &words, likeness) {
                failures.push(format!("{difference}\n  in: {}", case.trim()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// `''` is the empty word.
fn word(text: &str) -> &[u8] {
    match text {
        "''" => b"",
        other => other.as_bytes(),
    }
}

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

#[test]
fn connection_and_server() {
    check(&[
        "PING
         PING hello
         PING a b
         ECHO x
         ECHO
         ECHO a b
         SELECT 0
         SELECT 1
         SELECT -1
         SELECT x
         SELECT 99999999999
         SELECT
         ~TIME
         TIME x
         DBSIZE x",
        "~HELLO
         ~HELLO 2
         HELLO 1
         HELLO 4
         HELLO x
         HELLO 2 FOO
         HELLO 2 AUTH
         HELLO 2 AUTH a b
         ~HELLO 2 AUTH default b
         HELLO 2 SETNAME
         ~HELLO 2 SETNAME me
         CLIENT GETNAME
         ~HELLO 2 AUTH default b SETNAME you
         CLIENT GETNAME
         HELLO 2 SETNAME bad\u{7f}name",
        "CLIENT GETNAME
         CLIENT SETNAME me
         CLIENT GETNAME
         2: CLIENT GETNAME
         CLIENT SETNAME bad\u{e9}name
         CLIENT SETNAME ''
         CLIENT GETNAME
         ~CLIENT ID
         CLIENT ID x
         CLIENT
         CLIENT NOPE
         CLIENT SETINFO lib-name x
         CLIENT SETNAME
         CLIENT SETNAME me
         RESET
         CLIENT GETNAME
         RESET x",
        "~COMMAND COUNT
         COMMAND COUNT x
         COMMAND NOPE
         COMMAND INFO nope
         ~INFO
         ~INFO server
         INFO nope
         INFO keyspace
         SET a 1
         SET b 1 PXAT 4102444800000
         ~INFO keyspace",
        "FLUSHALL
         SET a 1
         FLUSHDB
         DBSIZE
         SET a 1
         FLUSHALL ASYNC
         FLUSHDB SYNC
         FLUSHALL NOW
         FLUSHDB NOW
         FLUSHALL SYNC SYNC
         DBSIZE",
        "NOPE
         NOPE a b c
         nope ''
         '' ''
         GETT aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccc
         nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn x",
    ]);
}

#[test]
fn transactions() {
    check(&[
        "MULTI
         SET a 1
         INCR a
         GET a
         EXEC
         EXEC
         DISCARD
         MULTI
         EXEC",
        "MULTI
         SET a 1
         DISCARD
         GET a
         MULTI x
         EXEC x
         DISCARD x",
        "MULTI
         NOPE
         SET a 1
         EXEC
         GET a
         MULTI
         GET
         EXEC
         MULTI
         CLIENT NOPE
         DISCARD
         MULTI
         EXEC",
        "SET a x
         MULTI
         SET b 1
         INCR a
         SET c 1 EX 0
         SET b 2
         EXEC
         GET b",
        "MULTI
         MULTI
         SET a 1
         EXEC
         MULTI
         WATCH a
         GET a
         EXEC
         MULTI
         UNWATCH
         PING
         SELECT 1
         ~HELLO 2
         ~EXEC
         MULTI
         HELLO 9
         EXEC
         MULTI
         EXEC x
         EXEC
         MULTI
         RESET
         EXEC",
        "MULTI
         EVAL return 0
         EVAL x y
         EVALSHA x 0
         SCRIPT LOAD (
         SCRIPT NOPE
         EXEC",
        "WATCH
         UNWATCH
         UNWATCH x",
    ]);
}

#[test]
fn watches() {
    check(&[
        "WATCH a
         2: SET a 1
         MULTI
         PING
         EXEC
         MULTI
         PING
         EXEC",
        "WATCH a
         SET a 1
         MULTI
         PING
         EXEC",
        "WATCH a b
         2: SET c 1
         2: GET a
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         UNWATCH
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         MULTI
         DISCARD
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         MULTI
         NOPE
         EXEC",
        "WATCH a
         2: DEL a
         2: PEXPIRE a 100
         2: PERSIST a
         2: SET a 1 XX
         2: GETDEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: SET a 2 NX
         2: SETNX a 2
         2: PERSIST a
         2: EXPIRE a 100 XX
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: PEXPIRE a 100000
         MULTI
         PING
         EXEC",
        "SET a 1 PX 100000
         WATCH a
         2: PERSIST a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: DEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: GETDEL a
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: SET a 1
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "WATCH a
         2: FLUSHALL
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: FLUSHDB
         2: SET a 1
         MULTI
         PING
         EXEC",
        "SET a 1
         WATCH a
         2: EVAL return(redis.call('del','a')) 0
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         WATCH a
         sleep 50
         MULTI
         PING
         EXEC",
        "SET a 1 PX 20
         WATCH a
         sleep 50
         2: GET a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: GET a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: SET a 2
         MULTI
         PING
         EXEC",
        "SET a 1 PXAT 1
         WATCH a
         2: FLUSHALL
         2: SET a 2
         MULTI
         PING
         EXEC",
        "WATCH a
         WATCH a
         2: SET a 1
         WATCH a
         MULTI
         PING
         EXEC",
        "WATCH a
         2: SET a 1
         RESET
         MULTI
         PING
         EXEC",
        "WATCH a
         2: WATCH a
         MULTI
         SET a 1
         EXEC
         2: MULTI
         2: PING
         2: EXEC",
    ]);
}

#[test]
fn scripts_as_commands() {
    check(&[
        "EVAL return(1) 0
         EVAL
         EVAL x
         EVAL x y
         EVAL x 1
         EVAL x -1
         EVAL x 99999999999999999999
         EVAL return(KEYS[1]) 1 a
         EVAL return(ARGV[1]) 1 a b
         EVAL return(#ARGV) 0 a b c
         EVAL ( x
         EVAL ( 0",
        "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
         SCRIPT LOAD return(1)
         SCRIPT LOAD return(1)
         SCRIPT EXISTS 0bac911f6b0bb9cd7efa3fbdbaaf5c1bc20ad0ba x
         EVALSHA x 0
         EVALSHA x y
         EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db y
         EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 5
         EVALSHA
         EVALSHA x",
        "EVAL return(2) 0
         SCRIPT EXISTS 7f923f79fe76194c868d7e1d0820de36700eb649 7F923F79FE76194C868D7E1D0820DE36700EB649
         EVALSHA 7f923f79fe76194c868d7e1d0820de36700eb649 0
         EVALSHA 7F923F79FE76194C868D7E1D0820DE36700EB649 0
         SCRIPT FLUSH
         EVALSHA 7f923f79fe76194c868d7e1d0820de36700eb649 0
         SCRIPT FLUSH ASYNC
         SCRIPT FLUSH SYNC
         SCRIPT FLUSH NOW
         SCRIPT FLUSH SYNC SYNC
         SCRIPT
         SCRIPT NOPE
         SCRIPT LOAD
         SCRIPT LOAD (
         SCRIPT EXISTS
         SCRIPT KILL",
        "EVAL_RO return(redis.call('get','a')) 0
         EVAL_RO return(redis.call('set','a','1')) 0
         EVALSHA_RO x 0",
        "MULTI
         EVAL return(redis.call('incr','a')) 0
         EVAL return(redis.call('incr','a')) 0
         EVAL error('x') 0
         EXEC",
    ]);
}

#[test]
fn bytes_that_are_no_requests() {
    let mut pair = Pair::start(0);
    let long_inline = vec![b'x'; 70_000];
    let long_count = [b"*".as_slice(), &vec![b'1'; 70_000]].concat();
    let long_bulk = [b"*1\r\n$".as_slice(), &vec![b'1'; 70_000]].concat();
    let cases: &[&[u8]] = &[
        b"",
        b"\r\n",
        b"\n",
        b"PING\r\n",
        b"PING\n",
        b"PING",
        b"\r\n\r\nPING\r\n",
        b"  PING  \r\n",
        b"ECHO \"a b\\x41\\n\\r\\t\\b\\a\\q\\\"\"\r\n",
        b"ECHO 'a b\\'\\x41'\r\n",
        b"ECHO \"a\"b\r\n",
        b"ECHO \"a\r\n",
        b"ECHO 'a\r\n",
        b"ECHO 'a'b\r\n",
        b"ECHO a\"b c\"\r\n",
        b"ECHO a\tb\r\n",
        b"ECHO \"\"\r\n",
        b"ECHO \0\r\nPING\r\n",
        b"PING\r\nPING\r\n",
        b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
        b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI",
        b"*0\r\nPING\r\n",
        b"*-1\r\nPING\r\n",
        b"*-9\r\nPING\r\n",
        b"*\r\nPING\r\n",
        b"*x\r\n",
        b"* 1\r\n",
        b"*01\r\n",
        b"*+1\r\n",
        b"*1x\r\n",
        b"*1",
        b"*1\r",
        b"*1\r\n",
        b"*x",
        b"*1048576\r\n",
        b"*1048577\r\n",
        b"*2147483647\r\n",
        b"*2147483648\r\n",
        b"*99999999999999999999\r\n",
        b"*1\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n\r\n",
        b"*1\r\n\n\r\n",
        b"*1\r\n\xff\r\n",
        b"*1\r\n$\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$4x\r\n",
        b"*1\r\n$536870912\r\n",
        b"*1\r\n$536870913\r\n",
        b"*1\r\n$99999999999999999999\r\n",
        b"*2\r\n$4\r\nPING\r\n$x\r\n",
        b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
        b"*1\rx$4\rxPING\r\n",
        b"*1\r\n$0\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n*x\r\n*1\r\n$4\r\nPING\r\n",
        b"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n",
        b"QUIT now\r\nPING\r\n",
        b"MULTI\r\nQUIT\r\n",
        b"$4\r\nPING\r\n",
        b"+PING\r\n",
        b"GET a\0b\r\n",
        b"NOPE a\nb\r\n",
        b"*2\r\n$4\r\nNOPE\r\n$4\r\na\r\nb\r\n",
        b"*1\r\n$6\r\nNO\r\nPE\r\n",
        b"*1\r\n$5\r\nNO\0PE\r\n",
        b"*2\r\n$6\r\nCLIENT\r\n$4\r\na\r\nb\r\n",
        b"*4\r\n$6\r\nEXPIRE\r\n$1\r\na\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n",
        &long_inline,
        &long_count,
        &long_bulk,
    ];
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| pair.compare_raw(case).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
