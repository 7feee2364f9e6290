//! Random command sequences over three keys and two connections, and random bytes.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::pair::Pair;
use crate::wire::Likeness;

/// A time far enough ahead that no test reaches it, in seconds.
const FAR_S: u64 = 4_102_444_800;

/// Where a sequence that failed is kept, so that it is tried again.
const REGRESSIONS: &str = "tests/regressions/parity.txt";

/// With each command a request to a real server: two or three seconds.
const SEQUENCES: u32 = 500;
/// With a new connection each: about a second.
const STREAMS: u32 = 2000;

#[test]
fn any_sequence_of_commands_is_answered_alike() {
    let pair = RefCell::new(Pair::start(2));
    let sequences = prop::collection::vec((0..2_usize, command()), 1..30);
    check(SEQUENCES, sequences, |sequence| {
        let mut pair = pair.borrow_mut();
        pair.clear();
        for (connection, command) in &sequence {
            let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
            // What shows a time to live; EXEC may have one among its replies.
            let likeness = match words[0] {
                b"TTL" | b"PTTL" | b"EXEC" => Likeness::Within(2000),
                _ => Likeness::Bytes,
            };
            pair.compare(*connection, &words, likeness)
                .map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
}

#[test]
fn any_bytes_are_answered_alike() {
    let pair = RefCell::new(Pair::start(0));
    let pieces = prop::sample::select(vec![
        "*1\r\n",
        "*2\r\n",
        "*0\r\n",
        "*-1\r\n",
        "*",
        "$4\r\n",
        "$1\r\n",
        "$0\r\n",
        "$-1\r\n",
        "$",
        "$4\r\nPING\r\n",
        "$4\r\nECHO\r\n",
        "PING",
        "ECHO",
        "NOPE",
        "MULTI\r\n",
        "EXEC\r\n",
        "\r\n",
        "\n",
        "\r",
        " ",
        "\t",
        "'",
        "\"",
        "\\",
        "\\x41",
        "\0",
        "0",
        "1",
        "4",
        "-",
        "x",
    ]);
    let streams = prop::collection::vec(pieces, 0..14);
    check(STREAMS, streams, |stream| {
        let bytes = stream.concat();
        pair.borrow_mut()
            .compare_raw(bytes.as_bytes())
            .map_err(TestCaseError::fail)
    });
}

fn check<S: Strategy>(cases: u32, inputs: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..Config::default()
    });
    if let Err(failure) = runner.run(&inputs, test) {
        panic!("{failure}");
    }
}

fn command() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let value = || prop::sample::select(vec!["1", "-5", "x", "9223372036854775807"]);
    // Relative times are never compared with each other: the two servers do not
    // run a command in the same millisecond.
    let expiry = prop_oneof![
        Just(String::new()),
        Just(" EX 100".to_owned()),
        Just(" PX 100000".to_owned()),
        Just(" PX 0".to_owned()),
        Just(" KEEPTTL".to_owned()),
        Just(" PXAT 1".to_owned()),
        Just(format!(" EXAT {FAR_S}")),
    ];
    let condition = prop::sample::select(vec!["", " NX", " XX", " GET", " NX GET", " XX GET"]);
    let when = (0..3_u64).prop_map(|more| (FAR_S + more).to_string());
    let flag = prop::sample::select(vec!["", " NX", " XX", " GT", " LT", " XX GT"]);
    let on_key = prop::sample::select(vec![
        "GET", "GETDEL", "DEL", "UNLINK", "EXISTS", "TTL", "PTTL", "PERSIST", "INCR", "DECR",
    ]);
    let alone = prop::sample::select(vec![
        "MULTI", "EXEC", "EXEC", "DISCARD", "UNWATCH", "DBSIZE", "FLUSHALL", "PING", "NOPE",
    ]);
    let compare_and_delete = "if(redis.call('get',KEYS[1])==ARGV[1])then\treturn(redis.call('del',KEYS[1]))else\treturn(0)end";
    prop_oneof![
        4 => (key(), value(), condition, expiry)
            .prop_map(|(key, value, condition, expiry)| format!("SET {key} {value}{condition}{expiry}")),
        6 => (on_key, key()).prop_map(|(name, key)| format!("{name} {key}")),
        2 => (key(), when, flag).prop_map(|(key, when, flag)| format!("EXPIREAT {key} {when}{flag}")),
        1 => key().prop_map(|key| format!("PEXPIRE {key} 100000")),
        1 => key().prop_map(|key| format!("PEXPIRE {key} -1")),
        1 => (key(), value()).prop_map(|(key, value)| format!("INCRBY {key} {value}")),
        1 => (key(), value()).prop_map(|(key, value)| format!("GETSET {key} {value}")),
        1 => (key(), value()).prop_map(|(key, value)| format!("SETNX {key} {value}")),
        2 => (key(), key()).prop_map(|(one, other)| format!("WATCH {one} {other}")),
        1 => (key(), value())
            .prop_map(move |(key, value)| format!("EVAL {compare_and_delete} 1 {key} {value}")),
        4 => alone.prop_map(str::to_owned),
    ]
}
