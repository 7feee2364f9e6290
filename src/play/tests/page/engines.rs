//! The module of the page, in Node.js, beside this build.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{answer, page};

/// Locks of every kind, with all kinds of servers, distributions, scripts and losses.
const SCENARIOS: [&str; 12] = [
    "kleppmann/k1-exponential",
    "kleppmann/k4-loss",
    "kleppmann/k8",
    "kleppmann/k10",
    "kleppmann/k13",
    "redisson/fair",
    "kleppmann/k18",
    "antirez/a9",
    "redis-docs/r4",
    "redis-docs/r12",
    "baselines/cas",
    "redisson/spin-pause",
];
const SEEDS: u64 = 20;

/// Runs of each of them.
pub fn runs() -> Vec<Value> {
    let of = |name: &'static str| {
        (0..SEEDS).map(move |seed| json!({ "ask": "run", "name": name, "seed": seed }))
    };
    SCENARIOS.into_iter().flat_map(of).collect()
}

/// The answers of the page's module; `None` without Node.js.
fn in_node(requests: &[Value]) -> Option<Vec<Value>> {
    let mut node = Command::new("node");
    node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/node.js"));
    let node = node
        .arg(page())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut node) = node.spawn() else {
        eprintln!(
            "SKIPPED: there is no Node.js on this machine, so the module of the page was not run"
        );
        return None;
    };
    let lines: String = requests.iter().map(|it| format!("{it}\n")).collect();
    let mut input = node.stdin.take().expect("it is piped");
    input.write_all(lines.as_bytes()).expect("Node.js reads");
    drop(input);
    let output = node.wait_with_output().expect("Node.js ends");
    assert!(output.status.success(), "Node.js failed");
    let text = String::from_utf8(output.stdout).expect("text");
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect(),
    )
}

/// Asserts that both answer alike; otherwise the page is older than the code.
fn check(requests: &[Value]) {
    let Some(answers) = in_node(requests) else {
        return;
    };
    assert_eq!(answers.len(), requests.len());
    for (request, theirs) in requests.iter().zip(answers) {
        let ours = Value::from(answer(request));
        let told = theirs[0]["error"].as_str().unwrap_or_default();
        assert!(
            ours == theirs,
            "the page says something else on {request}; make it anew with `cargo xtask page`. {told}"
        );
    }
}

#[test]
fn every_run_has_the_same_bytes_as_webassembly() {
    check(&runs());
}

#[test]
fn contents_scenarios_counts_and_errors_are_the_same() {
    let mistake = "title = \"t\"\n[lock]\nname = \"redlok\"\n";
    check(&[
        json!({ "ask": "contents" }),
        json!({ "ask": "scenario", "name": "kleppmann/k10", "sets": ["lock.ttl_ms=500"] }),
        json!({ "ask": "scenario", "name": "stdin", "text": mistake }),
        json!({ "ask": "batch", "name": "kleppmann/k1-exponential", "seeds": 300, "every": 100 }),
        json!({ "ask": "shrink", "name": "kleppmann/k1-exponential", "sets": ["lock.ttl_ms=500"], "seed": 3 }),
        json!({ "ask": "batch", "name": "kleppmann/k4", "sets": ["fault.delay.extra_ms=500"], "seeds": 60, "every": 60 }),
    ]);
}
