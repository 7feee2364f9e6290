//! Random talks on three connections over two keys, two lists and two channels.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::data::{Servers, cases, words};
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

/// A line without its number.
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
    let groups = cases(include_str!("../random/talks.txt")).into_iter();
    let groups: Vec<(u32, _)> = groups
        .map(|group| {
            let weight = group.section.parse().expect("a title is a number");
            (weight, prop::sample::select(group.lines).boxed())
        })
        .collect();
    (
        prop::strategy::Union::new_weighted(groups),
        any(&["a", "b"]),
        any(&["l", "m"]),
        any(&["c", "d"]),
    )
        .prop_map(move |(template, key, list, channel)| fill(template, key, list, channel))
}
