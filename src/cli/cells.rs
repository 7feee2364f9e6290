//! Scenarios in the world, each with its seeds, behind a progress bar.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::progress::Progress;
use crate::results::{Cell, Detail};
use crate::runner::batch::{self, BatchOptions, Job};
use crate::runner::pool::Broken;
use crate::scenario::Scenario;

/// One cell per scenario; `seeds` has one range for each.
pub(super) fn run(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    detail: Detail,
) -> Result<Vec<Cell>, Broken> {
    let job = |(scenario, seeds): (&Scenario, &Range<u64>)| Job {
        scenario: scenario.clone(),
        parameters: vec![],
        seeds: seeds.clone(),
    };
    let jobs: Vec<Job> = scenarios.iter().zip(seeds).map(job).collect();
    let progress = Progress::new("running", runs(seeds));
    let stop = AtomicBool::new(false);
    let batch_options = BatchOptions {
        detail,
        progress: &|runs| progress.add(runs),
        ..BatchOptions::quiet(threads, &stop)
    };
    let cells = batch::run(&jobs, &batch_options);
    progress.clear();
    Ok(cells?.into_iter().flatten().collect())
}

/// The total number of runs.
pub(super) fn runs(seeds: &[Range<u64>]) -> u64 {
    let lengths = seeds.iter().map(|seeds| seeds.end - seeds.start);
    lengths.fold(0, u64::saturating_add)
}
