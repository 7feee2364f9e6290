//! Many runs in parallel, aggregated into cells.
//!
//! The result of a cell does not depend on the number of threads, nor on which thread executed
//! which run.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::judged;
use super::pool::{self, Broken, lock};
use super::simulate::Keep;
use locklab_model::scenario::Scenario;
use locklab_results::{Cell, Detail};

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

/// The options of a batch, with its callbacks.
pub struct BatchOptions<'a> {
    /// The number of threads.
    pub threads: usize,
    /// What is kept of each run.
    pub detail: Detail,
    /// Set it to end the batch early.
    pub stop: &'a AtomicBool,
    /// Called with the number of runs just finished, from any thread.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Called with the index and result of each finished job, one call at a time, in the order
    /// in which they finish.
    pub finished: &'a (dyn Fn(usize, &Cell) + Sync),
}

impl<'a> BatchOptions<'a> {
    /// Options with this number of threads and without callbacks.
    pub fn quiet(threads: usize, stop: &'a AtomicBool) -> BatchOptions<'a> {
        BatchOptions {
            threads,
            detail: Detail::Counts,
            stop,
            progress: &|_| {},
            finished: &|_, _| {},
        }
    }
}

/// Runs all jobs; the result of a job that did not finish is `None`.
///
/// # Errors
///
/// When a run fails or panics.
pub fn run(jobs: &[Job], batch_options: &BatchOptions<'_>) -> Result<Vec<Option<Cell>>, Broken> {
    let seeds: Vec<Range<u64>> = jobs.iter().map(|job| job.seeds.clone()).collect();
    let open: Vec<Mutex<Open>> = jobs.iter().map(Open::new).collect();
    let announce = Mutex::new(());
    let run_one = |place: usize, seed, part: &mut Cell| {
        let run = judged::run(&jobs[place].scenario, seed, Keep::default())?;
        part.add(seed, &run.judged());
        if batch_options.detail == Detail::Runs {
            part.keep(seed, &run.judged());
        }
        Ok(())
    };
    let add = |place: usize, seeds: Range<u64>, part| {
        let runs = seeds.end - seeds.start;
        (batch_options.progress)(runs);
        let finished = lock(&open[place]).add(part, runs);
        if let Some(cell) = finished {
            let _one_at_a_time = lock(&announce);
            (batch_options.finished)(place, &cell);
        }
    };
    pool::run_chunks(
        &seeds,
        batch_options.threads,
        batch_options.stop,
        run_one,
        add,
    )?;
    Ok(open.iter().map(|open| lock(open).finished()).collect())
}

/// The partial result of a job.
struct Open {
    cell: Cell,
    missing: u64,
}

impl Open {
    fn new(job: &Job) -> Mutex<Self> {
        let cell = Cell {
            parameters: job.parameters.clone(),
            ..Cell::default()
        };
        Mutex::new(Self {
            cell,
            missing: job.seeds.end.saturating_sub(job.seeds.start),
        })
    }

    /// Adds a part; returns the whole cell if that was the last part.
    fn add(&mut self, part: Cell, runs: u64) -> Option<Cell> {
        self.cell.merge(part);
        self.missing -= runs;
        self.finished()
    }

    fn finished(&self) -> Option<Cell> {
        (self.missing == 0).then(|| self.cell.clone())
    }
}
