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
        "?COMMAND LIST FILTERBY PATTERN ll*
         ?COMMAND LIST FILTERBY PATTERN [l]LEN
         ?COMMAND LIST FILTERBY PATTERN client|k*
         ?command list filterby pattern h?et
         ?COMMAND LIST FILTERBY PATTERN acl|l?s*
         ?COMMAND LIST FILTERBY PATTERN client
         ?COMMAND LIST FILTERBY PATTERN nope*
         ?COMMAND LIST FILTERBY MODULE json
         ?COMMAND LIST FILTERBY ACLCAT transaction
         ?COMMAND LIST FILTERBY ACLCAT nope
         ?COMMAND LIST FILTERBY ACLCAT @list
         COMMAND LIST FILTERBY
         COMMAND LIST FILTERBY PATTERN
         COMMAND LIST FILTERBY FOO x
         COMMAND LIST FOO PATTERN x
         COMMAND LIST FILTERBY PATTERN x y
         COMMAND LIST x
         COMMAND LIST x y z w",
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
fn wait_reads_its_first_argument_first() {
    check(&["WAIT a b
         WAIT a 0
         WAIT a -1
         WAIT 0 b
         WAIT 0 -1
         WAIT 0 0"]);
}

#[test]
fn keys_of_a_request_are_found() {
    check(&["COMMAND GETKEYS
         COMMAND GETKEYS get
         COMMAND GETKEYS get a
         COMMAND GETKEYS get a b
         COMMAND GETKEYS mset a b c d
         COMMAND GETKEYS ping
         COMMAND GETKEYS nope x
         COMMAND GETKEYS eval x 2 a b c
         COMMAND GETKEYS eval x 0
         COMMAND GETKEYS eval x 5 a
         COMMAND GETKEYS eval x y
         COMMAND GETKEYS eval x -1 a
         COMMAND GETKEYS evalsha_ro x 1 a b
         COMMAND GETKEYS zmpop 2 a b min
         COMMAND GETKEYS lmpop 1 a left
         COMMAND GETKEYS lmpop x a left
         COMMAND GETKEYS lmpop 3 a left
         COMMAND GETKEYS lmpop 0 a left
         COMMAND GETKEYS blmpop 0 1 a left
         COMMAND GETKEYS bzmpop 0 2 a b min
         COMMAND GETKEYS blpop a b 0
         COMMAND GETKEYS blmove a b left right 0
         COMMAND GETKEYS object encoding k
         COMMAND GETKEYS memory usage k
         COMMAND GETKEYS config get x
         COMMAND GETKEYS client id
         COMMAND GETKEYS client id x
         COMMAND GETKEYS client nope
         COMMAND GETKEYS client nope x
         COMMAND GETKEYS rename a b
         COMMAND GETKEYS copy a b db 1
         COMMAND GETKEYS publish a b
         COMMAND GETKEYS spublish a b
         COMMAND GETKEYS ssubscribe a b
         COMMAND GETKEYS watch a b
         COMMAND GETKEYS exists a b c
         COMMAND GETKEYS del a b
         COMMAND GETKEYS move k 1
         COMMAND GETKEYS command getkeys get x
         COMMAND GETKEYS getkeys a
         command getkeys GET a"]);
}

#[test]
fn settings_of_latency_and_of_client_memory() {
    check(&["CONFIG GET latency-tracking
         CONFIG GET latency-monitor-threshold
         CONFIG GET maxmemory-clients
         CONFIG SET latency-tracking no
         CONFIG GET latency-tracking
         CONFIG SET latency-tracking x
         CONFIG SET latency-tracking yes
         CONFIG SET latency-monitor-threshold 100
         CONFIG GET latency-monitor-threshold
         CONFIG SET latency-monitor-threshold -1
         CONFIG SET latency-monitor-threshold x
         CONFIG SET latency-monitor-threshold 0
         CONFIG SET maxmemory-clients 1mb
         CONFIG GET maxmemory-clients
         CONFIG SET maxmemory-clients 5%
         CONFIG GET maxmemory-clients
         CONFIG SET maxmemory-clients 101%
         CONFIG SET maxmemory-clients -1%
         CONFIG SET maxmemory-clients -1
         CONFIG SET maxmemory-clients x
         CONFIG SET maxmemory-clients x%
         CONFIG SET maxmemory-clients 0%
         CONFIG GET maxmemory-clients
         CONFIG SET maxmemory-clients 0"]);
}
