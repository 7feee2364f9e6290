//! Many runs in parallel, aggregated into cells.
//!
//! The result of a cell does not depend on the number of threads, nor on which thread executed
//! which run.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::judged::{self, JudgedRun};
use super::pool::{self, Broken, lock};
use super::simulate::Keep;
use crate::check::{self, Property, Verdict};
use crate::results::{Cell, Detail, RunRow, Shortest};
use crate::scenario::Scenario;

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
        part.add(seed, &run);
        if batch_options.detail == Detail::Runs {
            part.keep(seed, &run);
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

impl Cell {
    /// Counts one run.
    pub fn add(&mut self, seed: u64, run: &JudgedRun) {
        self.fingerprint = self.fingerprint.wrapping_add(mix(seed, run.trace_hash));
        let struck = u64::from(check::struck(&run.history));
        for (property, verdict) in &run.verdicts {
            let tally = self.tallies.entry(*property).or_default();
            tally.struck += struck;
            match verdict {
                Verdict::Holds => tally.holds += 1,
                Verdict::Inconclusive { .. } => tally.inconclusive += 1,
                Verdict::Violated(violation) => {
                    tally.violated += 1;
                    tally.violated_struck += struck;
                    let this = Shortest {
                        at_ns: violation.at_ns,
                        seed,
                    };
                    let shortest = self.shortest.entry(*property).or_insert(this);
                    *shortest = this.min(*shortest);
                }
            }
        }
        self.writes.add(check::writes(&run.history));
        if run.verdicts.contains_key(&Property::Recovery)
            && let Some(pace) = check::pace(&run.history)
        {
            self.pace.get_or_insert_default().add(pace);
        }
        if run.verdicts.contains_key(&Property::AcknowledgedLost)
            && let Some(loss) = check::loss(&run.history)
        {
            self.loss.get_or_insert_default().add(loss);
        }
    }

    /// Keeps a run in short.
    pub fn keep(&mut self, seed: u64, run: &JudgedRun) {
        self.runs
            .push(RunRow::of(seed, &run.history, &run.verdicts));
    }

    /// Adds another part of the same cell.
    pub fn merge(&mut self, part: Cell) {
        self.runs.extend(part.runs);
        self.runs.sort_by_key(|run| run.seed);
        self.fingerprint = self.fingerprint.wrapping_add(part.fingerprint);
        for (property, tally) in part.tallies {
            self.tallies.entry(property).or_default().merge(tally);
        }
        self.writes.merge(part.writes);
        if let Some(loss) = part.loss {
            self.loss.get_or_insert_default().merge(loss);
        }
        if let Some(pace) = part.pace {
            self.pace.get_or_insert_default().merge(pace);
        }
        for (property, other) in part.shortest {
            let shortest = self.shortest.entry(property).or_insert(other);
            *shortest = other.min(*shortest);
        }
    }
}

/// A number for a run that depends on its seed and its trace. The sum over the runs of a cell,
/// in any order, is the cell's fingerprint. (The finaliser of SplitMix64.)
fn mix(seed: u64, trace_hash: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ trace_hash;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
