//! Scenarios in the world, each with its seeds, behind a progress bar.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::progress::Progress;
use super::resumable::Work;
use locklab_model::scenario::Scenario;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::{self, BatchOptions, Job};
use locklab_runner::pool::Broken;

/// One cell per scenario; `seeds` has one range for each.
pub(super) fn run(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    detail: Detail,
) -> Result<Vec<Cell>, Broken> {
    let never = AtomicBool::new(false);
    let cells = until(scenarios, seeds, threads, detail, &never)?;
    Ok(cells.into_iter().flatten().collect())
}

/// The same until `stop` is set; a cell that was not finished is `None`.
pub(super) fn until(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    threads: usize,
    detail: Detail,
    stop: &AtomicBool,
) -> Result<Vec<Option<Cell>>, Broken> {
    let job = |(scenario, seeds): (&Scenario, &Range<u64>)| Job {
        scenario: scenario.clone(),
        parameters: vec![],
        seeds: seeds.clone(),
    };
    let jobs: Vec<Job> = scenarios.iter().zip(seeds).map(job).collect();
    let progress = Progress::new("running", runs(seeds));
    let batch_options = BatchOptions {
        detail,
        progress: &|runs| progress.add(runs),
        ..BatchOptions::quiet(threads, stop)
    };
    let cells = batch::run(&jobs, &batch_options);
    progress.clear();
    cells
}

/// The seeds of one part of a scenario's runs, which is what Ctrl-C loses at most; of many runs
/// there are no more parts than [`MOST_PARTS`].
const PART: u64 = 2_000;
const MOST_PARTS: u64 = 500;

/// The same, where finished parts are kept in a file: after Ctrl-C the same command does the rest. Returns the runs that were made of each scenario, and their number.
pub(super) fn kept(
    scenarios: &[Scenario],
    seeds: &[Range<u64>],
    how: &Kept<'_>,
) -> anyhow::Result<Vec<(Cell, u64)>> {
    let (mut places, mut jobs) = (Vec::new(), Vec::new());
    for (place, (scenario, seeds)) in scenarios.iter().zip(seeds).enumerate() {
        let part = PART.max((seeds.end - seeds.start).div_ceil(MOST_PARTS));
        let mut first = seeds.start;
        while first < seeds.end {
            let end = first.saturating_add(part).min(seeds.end);
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
        doing: how.doing,
        threads: how.threads,
        detail: how.detail,
        stop: how.stop,
        bug: &|broken| {
            (how.bug)(Broken {
                job: places[broken.job],
                ..broken
            })
        },
    };
    let mut cells = vec![(Cell::default(), 0); scenarios.len()];
    for ((part, place), job) in work.resume(how.path)?.into_iter().zip(&places).zip(&jobs) {
        if let Some(part) = part {
            let (cell, runs) = &mut cells[*place];
            cell.merge(part);
            *runs += job.seeds.end - job.seeds.start;
        }
    }
    Ok(cells)
}

/// How runs are made that are kept.
pub(super) struct Kept<'a> {
    /// What is being done: `running`.
    pub doing: &'static str,
    pub threads: usize,
    pub detail: Detail,
    pub stop: &'a AtomicBool,
    pub path: &'a Path,
    /// The error for a run without a result; its `job` is the place of the scenario.
    pub bug: &'a dyn Fn(Broken) -> anyhow::Error,
}

/// The total number of runs.
pub(super) fn runs(seeds: &[Range<u64>]) -> u64 {
    let lengths = seeds.iter().map(|seeds| seeds.end - seeds.start);
    lengths.fold(0, u64::saturating_add)
}
