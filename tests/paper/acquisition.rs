//! A8 and A10 for every lock: a delay while the lock is acquired violates no lease that counts from
//! before the request, and does violate one that counts from the replies.

use std::sync::atomic::AtomicBool;

use locklab_ask::problems::{Setting, rows};
use locklab_check::Property;
use locklab_model::scenario::{check, load};
use locklab_runner::batch::{BatchOptions, Job, run};

const RUNS: u64 = 200;

/// Locks, or single forms of one, that give their user no deadline: with them `lease` is `belief`.
const NO_DEADLINE: [&str; 15] = [
    "setnx",
    "getset-as-listed",
    "database-unique",
    "consensus",
    "redisson",
    "redisson (resending)",
    "redisson (spin)",
    "redisson-fenced",
    "redisson-no-publish",
    "redisson-spin",
    "redisson-fair",
    "redisson-fair (newer release)",
    "redisson-multi (watchdog)",
    "redisson-redlock (watchdog)",
    "redisson-read-write",
];

/// Locks whose lease these delays violate: one does not look at the clock a second time, and the
/// other gives a lease to a key that may be another client's by then (claim B3). (Redisson's
/// RedLock does not look either; `redisson/redlock-paused` has a delay that violates it.)
const VIOLATED: [&str; 2] = ["redlock (no elapsed check)", "setnx-expire-repair"];

#[test]
fn a_delay_during_acquisition_breaks_no_lease_that_is_looked_at_again() {
    let setting = Setting {
        lease_ms: 1000,
        // A client waits for a node as long as it takes.
        parameters: toml::Table::from_iter([
            ("node_timeout_ms".to_owned(), 10_000.into()),
            ("order".to_owned(), "parallel".into()),
        ]),
    };
    let mut differing = Vec::new();
    for row in rows() {
        if NO_DEADLINE.contains(&row.label.as_str())
            || NO_DEADLINE.contains(&row.entry.name) && !row.label.contains("lease given")
        {
            continue;
        }
        let lock = row.lock(&setting).expect("a row is sound");
        let name = match lock.nodes() {
            1 => "antirez/a8-one-node",
            _ => "antirez/a8",
        };
        let mut scenario = load(name, &[]).expect("it ships");
        scenario.lock = lock;
        check(&scenario).expect("a sound scenario");
        let job = Job {
            scenario,
            parameters: vec![],
            seeds: 0..super::some_of(RUNS),
        };
        let stop = AtomicBool::new(false);
        let cells = run(&[job], &BatchOptions::quiet(2, &stop)).expect("no panic");
        let rate = cells[0].as_ref().expect("not stopped").tallies[&Property::Lease].rate();
        if (rate.violated > 0) != VIOLATED.contains(&row.label.as_str()) {
            differing.push(format!("{}: {}", row.label, rate.describe("runs")));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
