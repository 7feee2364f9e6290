//! Invalid and barely valid requests.

use crate::pair::Pair;
use crate::wire::Likeness;

#[test]
fn malformed_requests() {
    let mut pair = Pair::start(0);
    let long_inline = vec![b'x'; 70_000];
    let long_count = [b"*".as_slice(), &vec![b'1'; 70_000]].concat();
    let long_bulk = [b"*1\r\n$".as_slice(), &vec![b'1'; 70_000]].concat();
    let cases: &[&[u8]] = &[
        b"",
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET pwned 1\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nSET pwned 1\r\n",
        b"PING\r\nhost: a\r\nPING\r\n",
        b"*1\r\n$4\r\nPoSt\r\nPING\r\n",
        b"MULTI\r\nPOST\r\nEXEC\r\n",
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
        b"*1\r\n\0\r\n",
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

#[test]
fn clients_that_are_not_authenticated_send_short_requests() {
    let mut pair = Pair::start(1);
    let password: &[&[u8]] = &[b"CONFIG", b"SET", b"requirepass", b"pw"];
    pair.compare(0, password, Likeness::Bytes)
        .expect("a password can be set");
    let long = [
        b"*2\r\n$4\r\nAUTH\r\n$16384\r\n",
        &[b'x'; 16384][..],
        b"\r\n",
    ]
    .concat();
    let cases: &[&[u8]] = &[
        b"*10\r\n",
        b"*11\r\n",
        b"*11\r\n$4\r\nPING\r\n",
        b"*2147483647\r\n",
        b"*2147483648\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$16384\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$16385\r\n",
        &long,
        b"*1\r\n$536870913\r\n",
        b"*0\r\n*11\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*11\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*2\r\n$4\r\nECHO\r\n$16385\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$2\r\npx\r\n*11\r\n",
        b"PING a b c d e f g h i j k l\r\n",
    ];
    let failures: Vec<_> = cases
        .iter()
        .filter_map(|bytes| pair.compare_raw(bytes).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
