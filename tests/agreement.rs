//! The world and real Redis agree: a short form of `locklab confirm`, with a scenario for each way
//! in which a real run differs from one of plain processes.
#![cfg(target_os = "linux")]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locklab::confirm::campaign::{Agreement, Campaign, Finding, LONGEST_STALL_NS, Runs};
use locklab::confirm::{Programs, RealRedis};
use locklab::results::Cell;
use locklab::runner::batch::{self, BatchOptions, Job};
use locklab::scenario::{Scenario, load};

const SCENARIOS: [&str; 8] = [
    // A write that the proxy delays.
    "kleppmann/k4",
    // The clock of a real node steps forward.
    "kleppmann/k9",
    // The same of one of five, after a partition.
    "kleppmann/k10",
    // A delayed restart that goes by a real node's clock, which jumps.
    "kleppmann/k12",
    // Replies that wait while the client is stopped.
    "kleppmann/k13-unchecked",
    // Partitions, and real Sentinels that fail over.
    "jepsen/j2",
    // A real node loses its power, and what its append-only file had not synced.
    "kleppmann/k11",
    // A real node evicts the lock.
    "memory/evicted",
];

#[test]
fn the_world_and_real_redis_agree() {
    let job = |scenario: &Scenario| Job {
        scenario: scenario.clone(),
        parameters: vec![],
        seeds: 0..scenario.usual_seeds(),
    };
    let scenarios = SCENARIOS.map(|name| load(name, &[]).expect("it ships"));
    let jobs: Vec<Job> = scenarios.iter().map(job).collect();
    let stop = AtomicBool::new(false);
    let worlds = batch::run(&jobs, &BatchOptions::quiet(2, &stop)).expect("no run fails");
    let worlds = worlds
        .into_iter()
        .map(|cell| cell.expect("it was not stopped"));
    let scenarios: Vec<(Scenario, Cell)> = scenarios.into_iter().zip(worlds).collect();
    let wrong = Mutex::new(Vec::new());
    let campaign = Campaign {
        backend: &RealRedis::new(Programs {
            locklab: env!("CARGO_BIN_EXE_locklab").into(),
            redis_server: locklab_testing::program().into(),
        }),
        scenarios: &scenarios,
        runs: Runs { least: 2, most: 6 },
        longest_stall_ns: LONGEST_STALL_NS,
        stop: &stop,
        finished: &|place, confirmed| {
            let (scenario, world) = &scenarios[place];
            let name = &scenario.name;
            let mut wrong = wrong.lock().expect("nobody panics here");
            if let Some(why) = &confirmed.failure {
                wrong.push(format!("{name} failed: {why}"));
            }
            if confirmed.real_runs() == 0 {
                eprintln!("{name} was not judged: the machine stood still in every run");
            }
            for agreement in Agreement::of(scenario, world, &confirmed.real) {
                if agreement.finding == Finding::Differ {
                    wrong.push(format!("{name}: {agreement:?}"));
                }
            }
        },
    };
    campaign.run(0..SCENARIOS.len(), 4);
    let wrong = wrong.into_inner().expect("nobody panics here");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
