//! Random talks on three connections over two keys, two lists and two channels.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::data::{Servers, words};
use crate::talk::Talk;
use crate::versions;
use crate::wire::Likeness;

/// The file of failed talks, which are repeated in each run.
const REGRESSIONS: &str = "tests/regressions/talks.txt";

/// With five requests to a real server for each line: three or four seconds.
const TALKS: u32 = 300;

#[test]
fn any_conversation_matches_redis() {
    if versions::skips_test() {
        return;
    }
    go_alike(&[], line());
}

#[test]
fn any_conversation_of_a_client_with_its_own_events_matches_redis() {
    if versions::skips_test() {
        return;
    }
    let first = [
        "HELLO 3",
        "CONFIG SET notify-keyspace-events KEAn",
        "PSUBSCRIBE *",
    ];
    // For lists, the node sends an invalidation and an event in a different order.
    let line = line().prop_filter("nobody tracks", |line| !line.contains("TRACKING"));
    go_alike(&first, line);
}

/// Random talks after these lines of the first connection.
fn go_alike(first: &[&str], line: impl Strategy<Value = String>) {
    let talk = RefCell::new(Talk::start());
    let mut runner = TestRunner::new(Config {
        cases: TALKS,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..Config::default()
    });
    let lines = prop::collection::vec((1..4_usize, line), 1..25);
    let result = runner.run(&lines, |lines| {
        let mut talk = talk.borrow_mut();
        talk.clear();
        let first = first.iter().map(|line| (1, *line));
        let random = lines.iter().map(|(number, line)| (*number, line.as_str()));
        for (number, line) in first.chain(random) {
            let likeness = match line.starts_with("HELLO") {
                true => Likeness::Shape,
                false => Likeness::Bytes,
            };
            let differences = talk.say(number, &words(line), likeness);
            if !differences.is_empty() {
                let differences = differences.join("\n");
                return Err(TestCaseError::fail(format!(
                    "{number}: {line}\n{differences}"
                )));
            }
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// A line without its number. Events are limited to strings because of clients that track
/// keys.
fn line() -> impl Strategy<Value = String> {
    let any = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        prop::sample::select(words)
    };
    let fill = |template: String, key: String, list: String, channel: String| {
        template
            .replace("KEY", &key)
            .replace("LIST", &list)
            .replace("CHANNEL", &channel)
    };
    let templates = prop_oneof![
        4 => any(&["SET KEY v", "GET KEY", "DEL KEY", "MGET a b", "PEXPIRE KEY 100000", "FLUSHALL"]),
        4 => any(&["RPUSH LIST x", "LPUSH LIST y z", "DEL LIST", "LLEN LIST"]),
        4 => any(&[
            "BLPOP LIST 0", "BRPOP l m 0", "BLMOVE l m LEFT RIGHT 0", "BRPOPLPUSH m l 0",
            "CLIENT UNBLOCK $1", "CLIENT UNBLOCK $2 ERROR",
        ]),
        4 => any(&[
            "SUBSCRIBE CHANNEL", "UNSUBSCRIBE CHANNEL", "PSUBSCRIBE *", "PUNSUBSCRIBE",
            "PUBLISH CHANNEL hello", "PUBSUB NUMSUB c d", "PUBSUB NUMPAT",
        ]),
        3 => any(&[
            "CLIENT TRACKING on", "CLIENT TRACKING on NOLOOP",
            "CLIENT TRACKING on OPTIN", "CLIENT CACHING yes", "CLIENT TRACKING off",
        ]),
        3 => any(&["MULTI", "EXEC", "EXEC", "DISCARD", "WATCH KEY"]),
        3 => any(&["HELLO 3", "HELLO 3", "RESET", "PING", "CLIENT KILL ID $3"]),
        3 => any(&["SELECT 1", "SELECT 0", "FLUSHDB"]),
        2 => any(&["CONFIG SET notify-keyspace-events KE$n", "CONFIG SET notify-keyspace-events \"\""]),
        2 => any(&[
            "EVAL \"redis.call('set', KEYS[1], 'v') return redis.call('publish', 'c', 'x')\" 1 KEY",
            "EVAL \"redis.call('rpush', KEYS[1], 'v') return redis.call('get', 'a')\" 1 LIST",
            "EVAL \"#!lua flags=no-writes\\nreturn redis.pcall('publish', 'c', 'x')\" 1 KEY",
            "EVAL_RO \"return {redis.pcall('publish', 'c', 'x'), redis.call('get', KEYS[1])}\" 1 KEY",
        ]),
    ];
    (
        templates,
        any(&["a", "b"]),
        any(&["l", "m"]),
        any(&["c", "d"]),
    )
        .prop_map(move |(template, key, list, channel)| fill(template, key, list, channel))
}
