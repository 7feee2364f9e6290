//! `locklab judge`: the histories of `tests/judge`, and what cannot be used.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::bench::{Bench, Done};

/// Copies a history of `tests/judge` into the folder.
fn history<'n>(bench: &Bench, name: &'n str) -> &'n str {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/judge")
        .join(name);
    bench.write(name, &fs::read_to_string(path).expect("it is there"))
}

fn judge(bench: &Bench, arguments: &[&str]) -> Done {
    bench.locklab(&[&["judge"], arguments].concat())
}

#[test]
fn every_history_has_its_verdicts() {
    let bench = Bench::new("judge");
    let mut told = String::new();
    for (name, arguments) in [
        ("completion-order.edn", &["--model", "owner"][..]),
        ("info.edn", &[]),
        ("two-holders.edn", &[]),
        ("outlived.jsonl", &[]),
        ("early.jsonl", &[]),
        ("permits.jsonl", &[]),
        ("fenced.jsonl", &[]),
        ("readers.jsonl", &[]),
        ("resource.jsonl", &[]),
    ] {
        let done = judge(&bench, &[&[history(&bench, name)], arguments].concat());
        told += &format!("{}\n", done.told());
    }
    assert_snapshot!("judge_histories", told);
    assert!(
        bench
            .read("target/locklab/judge-early.jsonl/violation.svg")
            .contains("w2")
    );
}

#[test]
fn verdicts_are_data_too() {
    let bench = Bench::new("judge-json");
    let data = judge(&bench, &[history(&bench, "early.jsonl"), "--json"]).json();
    assert_eq!(data["command"], "judge");
    let lease = &data["locks"][0]["verdicts"]["lease"];
    assert_eq!(lease["verdict"], "violated");
    assert_eq!(lease["at_ns"], 1_004_000_000_u64);
    assert_eq!(lease["clients"], serde_json::json!(["w1", "w2"]));
    assert_eq!(lease["lines"], serde_json::json!([2, 3, 4, 7, 8]));
}

/// A history that is written as EDN has the same verdicts when it is read again.
#[test]
fn edn_is_read_as_it_was_written() {
    let bench = Bench::new("judge-edn");
    for name in [
        "early.jsonl",
        "resource.jsonl",
        "readers.jsonl",
        "two-holders.edn",
    ] {
        let model = match name {
            "readers.jsonl" => "read-write",
            "two-holders.edn" => "mutex",
            _ => "renewal",
        };
        let arguments = [history(&bench, name), "--model", model];
        let verdicts = |arguments: &[&str]| {
            let data = judge(&bench, &[arguments, &["--json"]].concat()).json();
            let verdicts = data["locks"][0]["verdicts"]
                .as_object()
                .expect("verdicts")
                .clone();
            let verdicts = verdicts.into_iter();
            verdicts
                .map(|(name, verdict)| (name, verdict["verdict"].clone()))
                .collect::<Vec<_>>()
        };
        let written = judge(&bench, &[&arguments[..], &["--format", "edn"]].concat());
        bench.write("again.edn", &written.out);
        assert_eq!(
            verdicts(&["again.edn", "--model", model]),
            verdicts(&arguments),
            "{name}"
        );
    }
}

#[test]
fn a_spent_budget_is_inconclusive() {
    let bench = Bench::new("judge-budget");
    let done = judge(
        &bench,
        &[history(&bench, "outlived.jsonl"), "--budget", "2"],
    );
    assert_eq!(done.code, Some(3));
    let told = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "the budget was spent: the search put 2 of 3 calls in order and tried 2 steps";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_recording_is_judged_as_it_was_and_searched() {
    let bench = Bench::new("judge-recording");
    bench.locklab(&["run", "kleppmann/k10", "--seed", "179"]);
    let done = judge(
        &bench,
        &["target/locklab/kleppmann-k10/seed-179.jsonl", "--json"],
    );
    assert_eq!(done.code, Some(2), "{}", done.told());
    let verdicts = &done.json()["locks"][0]["verdicts"];
    assert_eq!(verdicts["lease"]["verdict"], "violated");
    assert_eq!(verdicts["linearizable"]["verdict"], "violated");
    bench.locklab(&["run", "kleppmann/k1", "--seed", "3"]);
    let done = judge(
        &bench,
        &["target/locklab/kleppmann-k1/seed-3.jsonl", "--json"],
    );
    let verdicts = &done.json()["locks"][0]["verdicts"];
    assert_eq!(verdicts["belief"]["verdict"], "violated");
    assert_eq!(verdicts["linearizable"]["verdict"], "holds");
}

#[test]
fn what_cannot_be_used_is_told() {
    let bench = Bench::new("judge-bad");
    let mut told = String::new();
    for (name, text) in [
        ("empty.jsonl", ""),
        ("text.log", "acquired at 12:00\n"),
        (
            "model.jsonl",
            "{\"lock-history\":1,\"model\":\"spinlock\"}\n",
        ),
        (
            "field.jsonl",
            "{\"lock-history\":1,\"model\":\"owner\"}\n{\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\",\"tokn\":1}\n",
        ),
        ("cut.edn", "{:process 0, :type :invoke"),
    ] {
        let done = judge(&bench, &[bench.write(name, text)]);
        assert_eq!(done.code, Some(1), "{name}");
        told += &format!("{}\n", done.told());
    }
    told += &judge(&bench, &["missing.jsonl"]).told();
    assert_snapshot!("judge_bad", told);
}
