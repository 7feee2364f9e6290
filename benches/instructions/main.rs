//! Workloads whose instructions `cargo xtask bench instructions` counts.
//!
//! `locklab-instructions WORKLOAD REPETITIONS` performs a workload once to warm up, and then this
//! many times in [`measured`], with a seed of its own each time. Callgrind counts inside that
//! function alone, so that neither start-up nor the reading of a scenario is counted.

mod echo;

use std::process::ExitCode;

use locklab_check::{Bounds, judge};
use locklab_history::History;
use locklab_model::scenario::{self, Scenario};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of records that are judged.
const RECORDS: usize = 10_000;

/// Two clients take turns without a fault, and no property is violated, so that every check reads
/// all of the history.
const TURNS: &str = r#"
title = "Many turns"
headline = "lease"
about = "Two clients take turns."
source = "this benchmark"
topology = { nodes = 1, clients = 2 }
lock = { name = "set-nx-px", ttl_ms = 1000 }
workload = { hold_ms = 20, rounds = 1000 }
"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, repetitions] = &arguments[..] else {
        eprintln!("usage: locklab-instructions WORKLOAD REPETITIONS");
        return ExitCode::FAILURE;
    };
    match (named(workload), repetitions.parse()) {
        (Some(mut workload), Ok(repetitions)) => {
            workload(0);
            measured(&mut *workload, repetitions);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("unknown workload `{workload}`, or `{repetitions}` is not a number");
            ExitCode::FAILURE
        }
    }
}

/// What is counted.
#[inline(never)]
fn measured(workload: &mut dyn FnMut(u64), repetitions: u64) {
    for seed in 1..=repetitions {
        workload(seed);
    }
}

/// The workload of this name, as a function of a seed.
fn named(name: &str) -> Option<Box<dyn FnMut(u64)>> {
    Some(match name {
        "k1" => run_of("kleppmann/k1"),
        "redlock" => run_of("kleppmann/k10"),
        "campaign" => run_of("problems/campaign"),
        "echo" => Box::new(|seed| {
            let outcome = echo::run(seed);
            assert_eq!(outcome.messages, 900, "the workload changed");
            assert!(outcome.virtual_ms >= 30_000, "the workload changed");
        }),
        "judging" => {
            let (history, bounds) = long_history();
            Box::new(move |_| assert!(!judge(&history, &bounds).is_empty()))
        }
        _ => return None,
    })
}

/// Runs a scenario that ships, and judges the run.
fn run_of(name: &str) -> Box<dyn FnMut(u64)> {
    let scenario = scenario::load(name, &[]).expect("it ships");
    Box::new(move |seed| {
        let run = judged::run(&scenario, seed, Keep::default()).expect("it ends");
        assert!(!run.verdicts.is_empty());
    })
}

fn long_history() -> (History, Bounds) {
    let scenario: Scenario = scenario::parse("turns.toml", TURNS, &[]).expect("it is sound");
    let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
    let mut history = run.history;
    assert!(
        history.records.len() >= RECORDS,
        "{}",
        history.records.len()
    );
    history.records.truncate(RECORDS);
    (history, judged::bounds(&scenario))
}
