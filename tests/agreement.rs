//! The simulator and real Redis agree: a short form of `locklab confirm`, with a scenario for each
//! way in which a real run differs from one of plain processes.
#![cfg(target_os = "linux")]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locklab_model::scenario::{Scenario, load};
use locklab_real::series::{Agreement, Finding, LONGEST_STALL_NS, Runs, Series};
use locklab_real::{Programs, RealRedis};
use locklab_results::Cell;
use locklab_runner::batch::{self, BatchOptions, Job};

/// A write that the proxy delays.
#[test]
fn kleppmann_k4() {
    agrees("kleppmann/k4");
}

/// The clock of a real node steps forward.
#[test]
fn kleppmann_k9() {
    agrees("kleppmann/k9");
}

/// The same of one of five, after a partition.
#[test]
fn kleppmann_k10() {
    agrees("kleppmann/k10");
}

/// A restart delayed by a real node's clock, which jumps.
#[test]
fn kleppmann_k12() {
    agrees("kleppmann/k12");
}

/// Replies that wait while the client is stopped.
#[test]
fn kleppmann_k13_unchecked() {
    agrees("kleppmann/k13-unchecked");
}

/// Partitions, and real Sentinels that fail over.
#[test]
fn jepsen_j2() {
    agrees("jepsen/j2");
}

/// A real node loses its power, and what its append-only file had not synced.
#[test]
fn kleppmann_k11() {
    agrees("kleppmann/k11");
}

/// A real node evicts the lock.
#[test]
fn memory_evicted() {
    agrees("memory/evicted");
}

/// Compares a scenario's rates in the simulator and on real Redis, with two to six runs.
#[track_caller]
fn agrees(name: &str) {
    let scenario = load(name, &[]).expect("it ships");
    let stop = AtomicBool::new(false);
    let job = Job {
        seeds: 0..scenario.usual_seeds(),
        scenario: scenario.clone(),
        parameters: vec![],
    };
    let worlds = batch::run(&[job], &BatchOptions::quiet(1, &stop)).expect("no run fails");
    let world: Cell = worlds[0].clone().expect("it was not stopped");
    let scenarios: [(Scenario, Cell); 1] = [(scenario, world)];
    let wrong = Mutex::new(Vec::new());
    let series = Series {
        backend: &RealRedis::new(Programs {
            locklab: env!("CARGO_BIN_EXE_locklab").into(),
            redis_server: locklab_testing::program().into(),
        }),
        scenarios: &scenarios,
        runs: Runs { least: 2, most: 6 },
        longest_stall_ns: LONGEST_STALL_NS,
        stop: &stop,
        finished: &|_, confirmed| {
            let (scenario, world) = &scenarios[0];
            let mut wrong = wrong.lock().expect("nobody panics here");
            if let Some(why) = &confirmed.failure {
                wrong.push(format!("it failed: {why}"));
            }
            if confirmed.real_runs() == 0 {
                wrong.push("the machine stood still in every run: it is too busy to judge".into());
            }
            for agreement in Agreement::of(scenario, world, &confirmed.real) {
                if agreement.finding == Finding::Differ {
                    wrong.push(format!("{agreement:?}"));
                }
            }
        },
    };
    series.run(0..1, 2);
    let wrong = wrong.into_inner().expect("nobody panics here");
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}
