//! Every shipped scenario gives the predicted result, and gives it twice.

use locklab_evidence::Judgement;
use locklab_model::scenario::{SHIPPED, load};
use locklab_model::workload::WorkloadKind;
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::prediction::{compare, worst};
use std::sync::atomic::AtomicBool;

/// A few runs of thousands of adds each are enough: every one of them shows the result.
const SEEDS_OF_ADDS: u64 = 5;

fn jobs(most: u64) -> Vec<Job> {
    let job = |(name, _): &(&str, &str)| {
        let scenario = load(name, &[]).expect("a shipped scenario is sound");
        Job {
            seeds: match scenario.workload.kind {
                WorkloadKind::Lock => 0..scenario.usual_seeds().min(most),
                WorkloadKind::Adds => 0..SEEDS_OF_ADDS,
            },
            scenario,
            parameters: vec![],
        }
    };
    SHIPPED.iter().map(job).collect()
}

#[test]
fn every_scenario_comes_out_as_predicted() {
    let jobs = jobs(u64::MAX);
    let cells = run(&jobs, &BatchOptions::quiet(2, &AtomicBool::new(false))).expect("no panic");
    for (job, cell) in jobs.iter().zip(cells) {
        let cell = cell.expect("nobody stopped it");
        let comparisons = compare(&job.scenario, &cell);
        // Some scenarios are for measurements only.
        let expected = match job.scenario.expect.is_empty() {
            true => Judgement::Unpredicted,
            false => Judgement::AsPredicted,
        };
        assert!(
            worst(&comparisons) == expected,
            "{}: {comparisons:#?}",
            job.scenario.name
        );
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let jobs = jobs(20);
    let stop = AtomicBool::new(false);
    assert_eq!(
        run(&jobs, &BatchOptions::quiet(1, &stop)).expect("no panic"),
        run(&jobs, &BatchOptions::quiet(3, &stop)).expect("no panic")
    );
}
