//! What an interruption leaves.

use std::sync::atomic::AtomicBool;

use super::*;
use locklab_lab::test_session::Bench;
use locklab_lab::work::Ended;
use locklab_lab::{Stop, execute};

/// As if Ctrl-C arrived between the last run in the simulator and the first one on Redis.
#[test]
fn a_comparison_without_real_runs_is_not_whole() {
    static STOPPED: AtomicBool = AtomicBool::new(true);
    let runs = Runs { least: 8, most: 8 };
    let confirm = Confirm::plan(Options {
        scenarios: vec!["kleppmann/k1".into()],
        sets: vec![],
        runs,
        within: 0.05,
        scale: Scale::FULL,
        at_once: 1,
        programs: Programs::find().expect("this program has a path"),
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
        advice.starts_with("stopped after 402 of 410 runs"),
        "{advice}"
    );
}

/// A fully opposite outcome could not be told from chance.
#[test]
fn so_few_runs_that_nothing_could_differ_are_refused() {
    let plan = |most, within| {
        let named = ["kleppmann/k1", "redis-docs/r5"].map(String::from);
        Confirm::plan(Options {
            scenarios: named.into(),
            sets: vec![],
            runs: Runs { least: 2, most },
            within,
            scale: Scale::FULL,
            at_once: 1,
            programs: Programs::find().expect("this program has a path"),
        })
        .map(drop)
    };
    let refused = plan(11, 0.2).expect_err("eleven are too few").to_string();
    assert!(
        refused.starts_with(
            "--max-runs 11: of 8 rates none could be found to differ by more than 20 points"
        ),
        "{refused}"
    );
    assert!(refused.ends_with("write 12 or more"), "{refused}");
    assert!(plan(12, 0.2).is_ok());
    assert!(plan(12, 0.5).is_err());
}
