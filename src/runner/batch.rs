//! Many runs in parallel, aggregated job by job.
//!
//! The result of a job does not depend on the number of threads, nor on which thread executed which
//! run.

use std::mem;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::RunError;
use super::judged;
use super::pool::{self, Broken, lock};
use super::simulate::Keep;
use locklab_evidence::Weighted;
use locklab_model::scenario::Scenario;
use locklab_results::{Cell, Detail};
use locklab_vecmap::VecMap;

/// A scenario to run with several seeds: one cell of a grid.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario with all overrides applied.
    pub scenario: Scenario,
    /// The cell's parameters, for its result.
    pub parameters: Vec<(String, String)>,
    /// The seeds to run it with.
    pub seeds: Range<u64>,
}

impl Job {
    /// A scenario to run with these seeds, which is no cell of a grid.
    pub fn of(scenario: &Scenario, seeds: Range<u64>) -> Job {
        Job {
            scenario: scenario.clone(),
            parameters: vec![],
            seeds,
        }
    }

    /// Adds the run with one seed to the job's cell.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    pub fn add(&self, seed: u64, detail: Detail, cell: &mut Cell) -> Result<(), RunError> {
        let run = judged::run(&self.scenario, seed, Keep::default())?;
        cell.add(seed, &run.judged());
        if detail == Detail::Runs {
            cell.keep(seed, &run.judged());
        }
        Ok(())
    }
}

/// What some runs of a job come to. Joining is associative and commutative, so that it does not
/// matter which thread, or which machine, executed which run.
pub trait Part: Default + Clone + Send {
    /// Adds the results of other runs of the same job.
    fn join(&mut self, other: Self);

    /// Why these cannot be the results of so many runs, if they were read from a file: somebody may
    /// have edited it.
    fn why_not(&self, _runs: u64) -> Option<String> {
        None
    }
}

impl Part for Cell {
    fn join(&mut self, other: Self) {
        self.merge(other);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        Cell::why_not(self, runs)
    }
}

impl Part for Weighted {
    fn join(&mut self, other: Self) {
        Weighted::join(self, &other);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        Weighted::why_not(self, runs)
    }
}

/// The options of a batch.
pub struct BatchOptions<'a> {
    /// The number of threads.
    pub threads: usize,
    /// What is kept of each run.
    pub detail: Detail,
    /// Set it to end the batch early.
    pub stop: &'a AtomicBool,
}

impl<'a> BatchOptions<'a> {
    /// Options with this number of threads, which keep counts only.
    pub fn quiet(threads: usize, stop: &'a AtomicBool) -> BatchOptions<'a> {
        let detail = Detail::Counts;
        BatchOptions {
            threads,
            detail,
            stop,
        }
    }
}

/// Runs all jobs; the result of a job that did not finish is `None`.
///
/// # Errors
///
/// When a run fails or panics.
pub fn run(jobs: &[Job], options: &BatchOptions<'_>) -> Result<Vec<Option<Cell>>, Broken> {
    let seeds: Vec<Range<u64>> = jobs.iter().map(|job| job.seeds.clone()).collect();
    let run = |place: usize, seed, cell: &mut Cell| jobs[place].add(seed, options.detail, cell);
    // A job without seeds is finished.
    let empty = |job: &Job| job.seeds.is_empty().then(|| named(Cell::default(), job));
    let cells: Mutex<Vec<Option<Cell>>> = Mutex::new(jobs.iter().map(empty).collect());
    let keep = |place: usize, cell| lock(&cells)[place] = Some(named(cell, &jobs[place]));
    collect(&seeds, options.threads, options.stop, &|_| {}, &keep, run)?;
    Ok(lock(&cells).split_off(0))
}

/// The cell of a job.
fn named(cell: Cell, job: &Job) -> Cell {
    let parameters = job.parameters.clone();
    Cell { parameters, ..cell }
}

/// Calls `run` with the index of every range and each of its seeds, in parallel, and joins what it
/// collects of each range. Calls `progress` with the number of runs just made, from any thread, and
/// `finished` with each finished range and its result, one call at a time. In memory are the results
/// of those ranges that are begun and not finished.
///
/// # Errors
///
/// If a run fails or panics.
pub fn collect<P: Part, E: ToString>(
    ranges: &[Range<u64>],
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
    finished: &(dyn Fn(usize, P) + Sync),
    run: impl Fn(usize, u64, &mut P) -> Result<(), E> + Sync,
) -> Result<(), Broken> {
    let open: Mutex<VecMap<usize, Arc<Mutex<Open<P>>>>> = Mutex::default();
    let announce = Mutex::new(());
    let add = |place: usize, seeds: Range<u64>, part| {
        let runs = seeds.end - seeds.start;
        progress(runs);
        let range = &ranges[place];
        let begin = || {
            Arc::new(Mutex::new(Open {
                result: P::default(),
                missing: range.end - range.start,
            }))
        };
        let mine = lock(&open).entry(place).or_insert_with(begin).clone();
        let result = lock(&mine).add(part, runs);
        if let Some(result) = result {
            lock(&open).remove(&place);
            let _one_at_a_time = lock(&announce);
            finished(place, result);
        }
    };
    pool::run_chunks(ranges, threads, stop, run, add)
}

/// The partial result of a range.
struct Open<P> {
    result: P,
    /// The number of runs that are not made yet.
    missing: u64,
}

impl<P: Part> Open<P> {
    /// Adds a part; returns the whole result if that was the last part.
    fn add(&mut self, part: P, runs: u64) -> Option<P> {
        self.result.join(part);
        self.missing -= runs;
        (self.missing == 0).then(|| mem::take(&mut self.result))
    }
}
