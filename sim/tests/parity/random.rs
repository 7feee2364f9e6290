//! Random command sequences over three keys and two connections, and random bytes.
//!
//! `LOCKLAB_LONG=1` runs more than 200,000 commands instead of some 8,000.

mod commands;

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::pair::Pair;
use crate::wire::Likeness;

/// Where a sequence that failed is kept, so that it is tried again.
const REGRESSIONS: &str = "tests/regressions/parity.txt";

/// With each command a request to a real server: two or three seconds.
const SEQUENCES: u32 = 500;
/// With `LOCKLAB_LONG=1`: a minute or two.
const LONG_SEQUENCES: u32 = 15_000;
/// With a new connection each: about a second.
const STREAMS: u32 = 2000;

#[test]
fn any_sequence_of_commands_is_answered_alike() {
    let pair = RefCell::new(Pair::start(2));
    let sequences = prop::collection::vec((0..2_usize, commands::any()), 1..30);
    let long = std::env::var_os("LOCKLAB_LONG").is_some();
    let compared = Cell::new(0_u32);
    let count = if long { LONG_SEQUENCES } else { SEQUENCES };
    check(count, sequences, |sequence| {
        let mut pair = pair.borrow_mut();
        pair.clear();
        for (connection, command) in &sequence {
            let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
            pair.compare(*connection, &words, likeness(words[0]))
                .map_err(TestCaseError::fail)?;
            compared.set(compared.get() + 1);
        }
        Ok(())
    });
    println!("{} commands were answered alike", compared.get());
}

/// How alike the replies to a command have to be.
fn likeness(command: &[u8]) -> Likeness {
    match command {
        // Relative to when it ran.
        b"TTL" | b"PTTL" | b"EXPIRETIME" | b"PEXPIRETIME" => Likeness::Within(2000),
        // In no order.
        b"SMEMBERS" | b"SPOP" | b"SRANDMEMBER" | b"KEYS" | b"SCAN" | b"SSCAN" => Likeness::Sorted,
        // May have any of these among its replies.
        b"EXEC" => Likeness::Loose(2000),
        _ => Likeness::Bytes,
    }
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
