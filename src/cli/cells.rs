//! Scenarios in the world, each with its seeds, behind a progress bar.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::interrupt;
use super::progress::Progress;
use super::resumable::Work;
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

/// The seeds of one part of a scenario's runs: what Ctrl-C loses at most.
const PART: u64 = 2_000;

/// The same, where finished parts are kept in the file at `path`: after Ctrl-C the same command does
/// the rest. Returns the runs that were made of each scenario, and their number.
pub(super) fn kept(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    detail: Detail,
    path: &Path,
    bug: &dyn Fn(Broken) -> anyhow::Error,
) -> anyhow::Result<Vec<(Cell, u64)>> {
    let (mut places, mut jobs) = (Vec::new(), Vec::new());
    for (place, (scenario, seeds)) in scenarios.iter().zip(seeds).enumerate() {
        let mut first = seeds.start;
        while first < seeds.end {
            let end = first.saturating_add(PART).min(seeds.end);
            places.push(place);
            jobs.push(Job {
                scenario: scenario.clone(),
                parameters: vec![],
                seeds: first..end,
            });
            first = end;
        }
    }
    let work = Work {
        jobs: &jobs,
        doing: "running",
        threads,
        detail,
        stop: interrupt::flag()?,
        bug: &|broken| {
            bug(Broken {
                job: places[broken.job],
                ..broken
            })
        },
    };
    let mut cells = vec![(Cell::default(), 0); scenarios.len()];
    for ((part, place), job) in work.resume(path)?.into_iter().zip(&places).zip(&jobs) {
        if let Some(part) = part {
            let (cell, runs) = &mut cells[*place];
            cell.merge(part);
            *runs += job.seeds.end - job.seeds.start;
        }
    }
    Ok(cells)
}

/// The total number of runs.
pub(super) fn runs(seeds: &[Range<u64>]) -> u64 {
    let lengths = seeds.iter().map(|seeds| seeds.end - seeds.start);
    lengths.fold(0, u64::saturating_add)
}
