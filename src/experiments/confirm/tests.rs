//! What an interruption leaves.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::bench::Bench;
use crate::work::Ended;
use crate::{Stop, execute};

/// As if Ctrl-C arrived between the last run in the simulator and the first one on Redis.
#[test]
fn a_comparison_without_real_runs_is_not_whole() {
    static STOPPED: AtomicBool = AtomicBool::new(true);
    let runs = Runs { least: 2, most: 2 };
    let confirm = Confirm::plan(Options {
        scenarios: vec!["kleppmann/k1".into()],
        sets: vec![],
        runs,
        within: 0.05,
        scale: Scale::FULL,
        at_once: 1,
    });
    let confirm = confirm.expect("redis-server is installed");
    let mut bench = Bench::new("no-real-runs");
    let identity = (Confirm::NAME, confirm.identity());
    let work = Work::begin(&bench.0, &bench.0.store, &confirm.stem(), &identity);
    let work = work.expect("it begins");
    let simulated = simulate(&work, Jitter::default(), &confirm.scenarios, runs, &[]);
    assert!(simulated.expect("they run").iter().all(Made::is_whole));
    drop(work);

    bench.0.stop = Stop::by_user(&STOPPED);
    let (_, ended) = execute(&confirm, &bench.0).expect("it stops");
    let Ended::Interrupted(advice) = ended else {
        panic!("{ended:?}");
    };
    assert!(
        advice.starts_with("stopped after 402 of 404 runs"),
        "{advice}"
    );
}
