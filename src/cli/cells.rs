//! Scenarios in the world, each with the same seeds, behind a progress bar.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::progress::Progress;
use crate::runner::batch::{self, Conduct, Job};
use crate::runner::results::Cell;
use crate::scenario::Scenario;

/// One cell for each scenario.
pub(super) fn run(scenarios: &[Scenario], seeds: &Range<u64>, threads: usize) -> Vec<Cell> {
    let job = |scenario: &Scenario| Job {
        scenario: scenario.clone(),
        parameters: vec![],
        seeds: seeds.clone(),
    };
    let jobs: Vec<Job> = scenarios.iter().map(job).collect();
    let progress = Progress::new("running", jobs.len() as u64 * (seeds.end - seeds.start));
    let conduct = Conduct {
        threads,
        stop: &AtomicBool::new(false),
        progress: &|runs| progress.add(runs),
        finished: &|_, _| {},
    };
    let cells = batch::run(&jobs, &conduct).into_iter().flatten().collect();
    progress.clear();
    cells
}
