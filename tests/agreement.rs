//! The simulator and real Redis agree: a short form of `locklab confirm`, with a scenario for each
//! way in which a real run differs from one of plain processes.
#![cfg(target_os = "linux")]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locklab_model::scenario::load;
use locklab_real::comparison::{Comparison, Criteria, Finding, Runs, WITHIN};
use locklab_real::jitter::Jitter;
use locklab_real::series::{LONGEST_STALL_NS, Series};
use locklab_real::simulated::Simulation;
use locklab_real::{Programs, RealRedis};

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

/// Simulated runs of a scenario, of which six are of the real runs' seeds. Beside the others, five of six real runs that
/// end otherwise still differ (Fisher's test, p = 4e-5).
const SIMULATED: u64 = 30;

/// Compares a scenario's rates in the simulator and on real Redis, with two to six runs. (Durations
/// are not compared: other tests keep the machine busy.)
#[track_caller]
fn agrees(name: &str) {
    let scenario = load(name, &[]).expect("it ships");
    let mut simulation = Simulation::default();
    for seed in 0..scenario.usual_seeds().min(SIMULATED) {
        let prompt = &mut simulation.prompt;
        prompt.add(&scenario, seed).expect("no run fails");
    }
    let stop = AtomicBool::new(false);
    let criteria = Criteria::of([&scenario].into_iter(), WITHIN);
    let scenarios = [(scenario, simulation)];
    let wrong = Mutex::new(Vec::new());
    let series = Series {
        backend: &RealRedis::new(Programs {
            locklab: env!("CARGO_BIN_EXE_locklab").into(),
            redis_server: locklab_testing::program().into(),
            ..Programs::find().expect("this program has a path")
        }),
        scenarios: &scenarios,
        runs: Runs { least: 2, most: 6 },
        criteria,
        jitter: Jitter::default(),
        longest_stall_ns: LONGEST_STALL_NS,
        made_by: "a test",
        stop: &stop,
        finished: &|_, confirmed| {
            let (scenario, simulation) = &scenarios[0];
            let mut wrong = wrong.lock().expect("nobody panics here");
            if let Some(why) = &confirmed.failure {
                wrong.push(format!("it failed: {why}"));
            }
            if confirmed.real_runs() == 0 {
                wrong.push("the machine stood still in every run: it is too busy to judge".into());
            }
            for row in Comparison::of(scenario, simulation, confirmed, criteria).rates {
                if row.finding == Finding::Differ {
                    wrong.push(format!("{row:?}"));
                }
            }
        },
    };
    series.run(0..1, 2);
    let wrong = wrong.into_inner().expect("nobody panics here");
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}
