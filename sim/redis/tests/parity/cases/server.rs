//! The connection and the server, and refused requests.

use super::check;

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
