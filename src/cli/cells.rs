//! Scenarios in the world, each with the same seeds, behind a progress bar.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::progress::Progress;
use crate::runner::batch::{self, Conduct, Job};
use crate::runner::pool::Panicked;
use crate::runner::results::Cell;
use crate::scenario::Scenario;

/// One cell for each scenario.
pub(super) fn run(
    scenarios: &[Scenario],
    seeds: &Range<u64>,
    threads: usize,
) -> Result<Vec<Cell>, Panicked> {
    let job = |scenario: &Scenario| Job {
        scenario: scenario.clone(),
        parameters: vec![],
        seeds: seeds.clone(),
    };
    let jobs: Vec<Job> = scenarios.iter().map(job).collect();
    let progress = Progress::new("running", runs(scenarios, seeds));
    let stop = AtomicBool::new(false);
    let conduct = Conduct {
        progress: &|runs| progress.add(runs),
        ..Conduct::quiet(threads, &stop)
    };
    let cells = batch::run(&jobs, &conduct);
    progress.clear();
    Ok(cells?.into_iter().flatten().collect())
}

/// How many runs these are together.
pub(super) fn runs(scenarios: &[Scenario], seeds: &Range<u64>) -> u64 {
    (scenarios.len() as u64).saturating_mul(seeds.end - seeds.start)
}
