//! Runs that would never end, or would exhaust the memory, end with an error that names the
//! cause, the time, and what to change.

use std::process::Command;

use locklab_model::fault::expand;
use locklab_model::scenario::load;
use locklab_runner::RunError;
use locklab_runner::simulate::{Keep, simulate};

/// The error of a shipped scenario with these changes.
#[track_caller]
fn error(scenario: &str, sets: &[&str], keep: Keep) -> RunError {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = load(scenario, &sets).expect("a sound scenario");
    let run = simulate(&scenario, 0, &expand(&scenario.fault, 0), keep);
    run.expect_err("it cannot be run to the end")
}

const NO_TIME: [&str; 3] = [
    "network.latency_ms=0",
    "lock.retry_delay_ms=0",
    "lock.retry_jitter_ms=0",
];

#[test]
fn run_without_time_progress_reports_its_virtual_time() {
    let error = error("kleppmann/k1", &NO_TIME, Keep::default());
    // The second client starts at 20 to 200 ms, while the first is at work.
    let RunError::StandsStill { at_ns } = error else {
        panic!("{error}");
    };
    assert!((20_000_000..200_000_000).contains(&at_ns), "{at_ns}");
}

#[test]
fn a_history_that_is_full_ends_the_run() {
    let endless = ["workload.rounds=1000000", "horizon_ms=10000000000"];
    let records = error("kleppmann/k1", &endless, Keep::default());
    assert!(
        matches!(records, RunError::TooManyRecords { .. }),
        "{records}"
    );
    let messages = error("antirez/a2", &endless, Keep::MESSAGES);
    assert!(
        matches!(messages, RunError::TooManyMessages { .. }),
        "{messages}"
    );
}

#[test]
fn rejected_node_setting_is_an_error() {
    let refused = error("kleppmann/k1", &["node.maxclients=0"], Keep::default());
    let told = refused.to_string();
    assert!(
        told.starts_with("n1 cannot start: maxclients 0: "),
        "{told}"
    );
}

/// The scenario is at fault, not the program: exit code 1.
#[test]
fn command_line_reports_it_as_a_usage_error() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_locklab"));
    run.args(["run", "kleppmann/k1", "--seeds", "0..10"]);
    run.args(["--out", concat!(env!("CARGO_TARGET_TMPDIR"), "/unending")]);
    for set in NO_TIME {
        run.args(["--set", set]);
    }
    let output = run.output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let begins = "error: kleppmann/k1 with seed ";
    assert!(
        told.contains(begins) && told.contains("virtual time stands still at "),
        "{told}"
    );
    assert!(
        told.contains("\n  reproduce  ") && !told.contains("bug in Locklab"),
        "{told}"
    );
}
