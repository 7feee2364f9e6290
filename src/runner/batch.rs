//! Many runs in parallel, added up.
//!
//! What a cell adds up to does not depend on which thread ran what, nor on how many
//! there were.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::judged::{self, JudgedRun};
use super::pool::{self, Broken, lock};
use super::simulate::Keep;
use crate::check::{self, Property, Verdict};
use crate::results::{Cell, Shortest};
use crate::scenario::Scenario;

/// One scenario to run with many seeds: one cell of a grid.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scenario, all overrides applied.
    pub scenario: Scenario,
    /// The cell's parameters, for its result.
    pub parameters: Vec<(String, String)>,
    /// The seeds to run it with.
    pub seeds: Range<u64>,
}

/// How a batch is run, and who hears of it.
pub struct BatchOptions<'a> {
    /// How many threads.
    pub threads: usize,
    /// Set by whoever wants the batch to end early.
    pub stop: &'a AtomicBool,
    /// Called with the number of runs just done, from any thread.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Called with each finished job's place and result, one at a time, in the order
    /// in which they finish.
    pub finished: &'a (dyn Fn(usize, &Cell) + Sync),
}

impl<'a> BatchOptions<'a> {
    /// On so many threads, and nobody hears of it.
    pub fn quiet(threads: usize, stop: &'a AtomicBool) -> BatchOptions<'a> {
        BatchOptions {
            threads,
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

/// A job's result while it grows.
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

    /// Adds a part; the whole, if that was the last.
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
        if run.verdicts.contains_key(&Property::AcknowledgedLost)
            && let Some(loss) = check::loss(&run.history)
        {
            self.loss.get_or_insert_default().add(loss);
        }
    }

    /// Adds what another part of the same cell counted.
    pub fn merge(&mut self, part: Cell) {
        self.fingerprint = self.fingerprint.wrapping_add(part.fingerprint);
        for (property, tally) in part.tallies {
            self.tallies.entry(property).or_default().merge(tally);
        }
        if let Some(loss) = part.loss {
            self.loss.get_or_insert_default().merge(loss);
        }
        for (property, other) in part.shortest {
            let shortest = self.shortest.entry(property).or_insert(other);
            *shortest = other.min(*shortest);
        }
    }
}

/// A number for a run that depends on its seed and its trace; summed over the runs of a
/// cell, in any order, it is the cell's fingerprint. (The finaliser of SplitMix64.)
fn mix(seed: u64, trace_hash: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ trace_hash;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
