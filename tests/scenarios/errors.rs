//! The errors for an invalid scenario: file, line, column, what is wrong, and a suggestion.

use insta::assert_snapshot;
use locklab_model::scenario::{load, parse};
use locklab_testing::check_transcript;

/// A valid scenario, into which each test puts one mistake.
const GOOD: &str = r#"title = "Good"

[topology]
nodes = 5
clients = 2

[lock]
name = "redlock"
ttl_ms = 1000
quorum = 3

[workload]
hold_ms = 20

[network]
latency_ms = { uniform = [1, 5] }

[fault.gc]
kind = "pause"
on = "c1"
after = "c1 read"
duration_ms = 1500

[expect]
lease = "holds"
"#;

fn told_of(text: &str, sets: &[String]) -> String {
    match parse("scenarios/x.toml", text, sets) {
        Ok(_) => "nothing wrong".into(),
        Err(error) => error.to_string(),
    }
}

/// Makes a change to the scenario, as `errors.txt` has it, and returns the error.
fn told(change: &str) -> String {
    let change = change.replace('⏎', "\n");
    if let Some(sets) = change.strip_prefix("--set ") {
        let sets: Vec<String> = sets.split(" --set ").map(String::from).collect();
        return told_of(GOOD, &sets);
    }
    let (lines, by) = change.split_once(" →").expect("it is a change");
    let by = by.strip_prefix(' ').unwrap_or_default();
    assert_eq!(GOOD.matches(lines).count(), 1, "{lines} must occur once");
    told_of(&GOOD.replace(lines, by), &[])
}

#[test]
fn each_mistake_is_told_with_its_place() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/errors.txt");
    let run = |(): &mut (), _: &str, change: &str| vec![told(change)];
    check_transcript(path.as_ref(), &["$ "], || (), run);
}

#[test]
fn what_is_no_scenario_at_all() {
    assert_snapshot!(told_of("title = ", &["lock.ttl_ms=5".into()]), @"scenarios/x.toml:1:9: this is not TOML: string values must be quoted, expected literal string");
    let database = GOOD
        .replace("nodes = 5", "nodes = 1")
        .replace("redlock", "database-cas")
        .replace("quorum = 3\n", "");
    assert_snapshot!(told_of(&database, &["client.resend=1".into()]), @r#"--set client.resend=1: "database-cas" does not use Redis; leave [client] out"#);
}

#[test]
fn missing_scenarios() {
    let told = |name| {
        load(name, &[])
            .map_err(|error| error.to_string())
            .unwrap_err()
    };
    assert_snapshot!(told("kleppman/k1"), @r#""kleppman/k1" is neither a file nor a shipped scenario; did you mean "kleppmann/k1"?"#);
    assert_snapshot!(told("scenarios/nowhere.toml"), @r#""scenarios/nowhere.toml" is neither a file nor a shipped scenario; `locklab list scenarios` lists those that ship"#);
}

/// For any input, the result is a scenario or an error at a place in the file.
#[test]
fn no_slip_of_the_finger_is_worse_than_an_error() {
    let positions: Vec<usize> = GOOD.char_indices().map(|(i, _)| i).collect();
    let lines = GOOD.lines().count() + 1;
    for i in positions {
        let (before, after) = GOOD.split_at(i);
        for slip in ["", "x", "\"", "[", "-", "ü", "\n"] {
            let told = told_of(&format!("{before}{slip}{}", &after[1..]), &[]);
            let line = told.strip_prefix("scenarios/x.toml:").and_then(|at| {
                let (line, _) = at.split_once(':')?;
                line.parse::<usize>().ok()
            });
            let in_file = line.is_some_and(|line| (1..=lines + 1).contains(&line));
            assert!(
                told == "nothing wrong" || in_file,
                "{slip:?} at {i}: {told}"
            );
        }
    }
}
