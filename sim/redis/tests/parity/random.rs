//! Random command sequences over three keys and two connections, random scripts, and random bytes.
//!
//! `LOCKLAB_LONG=1` runs more than 200,000 commands instead of some 8,000, and 30,000 scripts instead of 1000.

mod commands;
mod scripts;

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::data::Servers;
use crate::pair::Pair;
use crate::talk::Talk;
use crate::versions;
use crate::wire::Likeness;

/// The file of failed sequences, which are repeated in each run.
const REGRESSIONS: &str = "tests/regressions/parity.txt";

/// With each command a request to a real server: two or three seconds.
const SEQUENCES: u32 = 500;
/// Two connections each; one is notified of the commands of the other.
const HEARD_SEQUENCES: u32 = 200;
/// Fewer cases than without a limit, since this is a variant.
const FULL_SEQUENCES: u32 = 300;
/// With a new connection each: about a second.
const STREAMS: u32 = 2000;

#[test]
fn any_sequence_of_commands_gets_the_replies_of_redis() {
    if versions::skips_test() {
        return;
    }
    are_answered_alike(SEQUENCES, commands::any());
}

#[test]
fn any_sequence_of_commands_gets_the_replies_of_redis_when_memory_is_short() {
    if versions::skips_test() {
        return;
    }
    are_answered_alike(FULL_SEQUENCES, commands::with_limits_on_memory());
}

/// Sends random commands on two connections, and compares the replies.
fn are_answered_alike(count: u32, commands: impl Strategy<Value = String>) {
    let pair = RefCell::new(Pair::start(2));
    let sequences = prop::collection::vec((0..2_usize, commands), 1..30);
    let compared = Cell::new(0_u32);
    check(count * stamina(), sequences, |sequence| {
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

#[test]
fn any_sequence_of_commands_causes_the_notifications_of_redis() {
    if versions::skips_test() {
        return;
    }
    heard_by(2, commands::any());
}

#[test]
fn any_sequence_of_commands_causes_the_notifications_of_redis_for_its_own_client() {
    if versions::skips_test() {
        return;
    }
    // Redis sends events of these commands in the middle of their replies.
    let tell_amid = ["MGET"];
    let commands = commands::any().prop_filter("no event amid a reply", move |command| {
        !tell_amid.iter().any(|name| command.starts_with(name))
    });
    heard_by(1, commands);
}

/// Sends random commands on connection 1 while a connection subscribes to all events.
fn heard_by(listener: usize, commands: impl Strategy<Value = String>) {
    let talk = RefCell::new(Talk::start());
    let sequences = prop::collection::vec(commands, 1..30);
    check(HEARD_SEQUENCES * stamina(), sequences, |sequence| {
        let mut talk = talk.borrow_mut();
        talk.clear();
        let mut say = |number, request: &str, likeness| {
            let words: Vec<_> = request.split(' ').map(|word| word.into()).collect();
            let differences = talk.say(number, &words, likeness);
            match differences[..] {
                [] => Ok(()),
                _ => Err(TestCaseError::fail(format!(
                    "{request}\n{}",
                    differences.join("\n")
                ))),
            }
        };
        say(1, "HELLO 3", Likeness::Shape)?;
        say(2, "HELLO 3", Likeness::Shape)?;
        // The time of a server's background deletion is random.
        say(2, "DEBUG SET-ACTIVE-EXPIRE 0", Likeness::Bytes)?;
        say(2, "CONFIG SET notify-keyspace-events KEAn", Likeness::Bytes)?;
        say(listener, "PSUBSCRIBE __key*", Likeness::Bytes)?;
        for command in &sequence {
            let likeness = match likeness(command.split(' ').next().unwrap_or("").as_bytes()) {
                Likeness::Bytes => Likeness::Bytes,
                _ => Likeness::Shape,
            };
            say(1, command, likeness)?;
        }
        Ok(())
    });
}

/// How many times as many sequences are tried.
fn stamina() -> u32 {
    match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => 30,
        None => 1,
    }
}

/// How similar the replies to a command must be.
fn likeness(command: &[u8]) -> Likeness {
    match command {
        // Relative to when it ran.
        b"TTL" | b"PTTL" | b"EXPIRETIME" | b"PEXPIRETIME" => Likeness::Within(2000),
        // In no order.
        b"SMEMBERS" | b"KEYS" | b"SCAN" | b"SSCAN" => Likeness::Sorted,
        // May have any of these among its replies.
        b"EXEC" => Likeness::Loose(2000),
        _ => Likeness::Bytes,
    }
}

#[test]
fn any_bytes_get_the_replies_of_redis() {
    if versions::skips_test() {
        return;
    }
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

/// Runs a test with random inputs; failing inputs are saved.
pub fn check<S: Strategy>(
    cases: u32,
    inputs: S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..Config::default()
    });
    if let Err(failure) = runner.run(&inputs, test) {
        panic!("{failure}");
    }
}
