//! The runs of an experiment, in parts that are kept as they are finished.
//!
//! This is the one place that resumes interrupted work, takes a shard of it, joins shards, and goes
//! on with further seeds until a budget of time is over.

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use locklab_vecmap::VecSet;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ledger::{self, Header, Ledger, Places};
use super::output::status;
use super::parts::{By, Parts, Rounds, Stage, further, length};
use super::progress::Progress;
use super::session::Session;
use super::store::Store;
use locklab_evidence::thousands;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::{self, Job, Part};
use locklab_runner::pool::{Broken, lock};

mod items;

pub use self::items::{Items, Kept};
use self::items::{finished, runs, sum};

/// What the runs of a job come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Made<P> {
    /// Their results together.
    pub result: P,
    /// How many runs were made.
    pub runs: u64,
    /// How many were to be made.
    pub planned: u64,
}

impl<P> Made<P> {
    /// The same runs, with another form of their results.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Made<Q> {
        let Made {
            result,
            runs,
            planned,
        } = self;
        Made {
            result: change(result),
            runs,
            planned,
        }
    }

    /// Whether all runs were made.
    pub fn is_whole(&self) -> bool {
        self.runs == self.planned
    }
}

/// How some work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All was done that was to be done.
    Whole,
    /// All of a shard was done; its ledger stays, to be joined with the others.
    Shard(String),
    /// The user stopped it.
    Interrupted(String),
    /// All was done that was to be done; the user stopped the further runs of a budget.
    Stopped,
    /// Its budget of time was over.
    OutOfTime(String),
}

impl Ended {
    /// What the user can do next, if anything is left.
    pub fn advice(&self) -> Option<&str> {
        match self {
            Ended::Whole | Ended::Stopped => None,
            Ended::Shard(advice) | Ended::Interrupted(advice) | Ended::OutOfTime(advice) => {
                Some(advice)
            }
        }
    }
}

/// The work of an experiment, with its ledger.
pub struct Work<'s> {
    session: &'s Session,
    /// How many shards there are; their number decides how jobs are cut into parts.
    shards: u64,
    ledger: Mutex<Ledger>,
    path: PathBuf,
    made: AtomicU64,
    planned: AtomicU64,
}

impl<'s> Work<'s> {
    /// Begins, or resumes, the work that `identity` describes completely, with the ledger
    /// `STEM.jsonl` in this folder.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be written, or the shards cannot be joined.
    pub fn begin(
        session: &'s Session,
        folder: &Store,
        stem: &str,
        identity: &impl Serialize,
    ) -> anyhow::Result<Self> {
        let header = Header::of(identity, session.shard, &session.words)?;
        let path = folder.path(&match session.shard {
            None => format!("{stem}.jsonl"),
            Some(shard) => format!("{stem}-shard-{}-of-{}.jsonl", shard.number, shard.of),
        });
        let (ledger, shards) = match &session.joined[..] {
            [] => {
                let ledger = Ledger::open(&path, &header, session.fresh)
                    .with_context(|| format!("cannot keep results in {}", path.display()))?;
                (ledger, session.shard.map_or(1, |shard| shard.of))
            }
            joined => Ledger::join(&header, joined)?,
        };
        Ok(Self {
            session,
            shards: shards as u64,
            ledger: Mutex::new(ledger),
            path,
            made: AtomicU64::new(0),
            planned: AtomicU64::new(0),
        })
    }

    /// How it is done.
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// Runs scenarios in the simulator: a cell for each job. `bug` is the error for a run without a
    /// result.
    ///
    /// # Errors
    ///
    /// See [`Work::runs`].
    pub fn cells(
        &self,
        stage: &Stage,
        jobs: &[Job],
        detail: Detail,
        bug: &dyn Fn(Broken) -> anyhow::Error,
    ) -> anyhow::Result<Vec<Made<Cell>>> {
        let seeds: Vec<Range<u64>> = jobs.iter().map(|job| job.seeds.clone()).collect();
        let threads = self.session.threads;
        let run = |place: usize, seed, cell: &mut Cell| jobs[place].add(seed, detail, cell);
        let mut cells = self.runs(stage, &seeds, threads, run, bug)?;
        for (cell, job) in cells.iter_mut().zip(jobs) {
            cell.result.parameters.clone_from(&job.parameters);
        }
        Ok(cells)
    }

    /// Calls `run` with the index of each range of seeds and each of its seeds, and joins what it
    /// collects of each range.
    ///
    /// # Errors
    ///
    /// That of `bug` if a run has no result; if a part cannot be saved; if shards are joined, and a
    /// part is missing.
    pub fn runs<P: Part + Serialize + DeserializeOwned, E: ToString>(
        &self,
        stage: &Stage,
        seeds: &[Range<u64>],
        threads: usize,
        run: impl Fn(usize, u64, &mut P) -> Result<(), E> + Sync,
        bug: &dyn Fn(Broken) -> anyhow::Error,
    ) -> anyhow::Result<Vec<Made<P>>> {
        let round = |name: &str, seeds: &[Range<u64>]| {
            let round = Round {
                stage,
                name,
                seeds,
                threads,
            };
            self.round(&round, &run, bug)
        };
        let (mut made, mut goes_on) = round(stage.name, seeds)?;
        let mut so_far = seeds.to_vec();
        for number in 1.. {
            let name = format!("{}+{number}", stage.name);
            let is_wanted = match self.session.joined.is_empty() {
                true => stage.rounds == Rounds::WhileThereIsTime && self.session.stop.has_time(),
                false => lock(&self.ledger).has(&name),
            };
            if !is_wanted || !goes_on || made.is_empty() {
                break;
            }
            let next: Vec<Range<u64>> = so_far.iter().map(further).collect();
            let (more, is_whole) = round(&name, &next)?;
            for (so_far, next) in so_far.iter_mut().zip(next) {
                so_far.end = next.end;
            }
            goes_on = is_whole;
            // Whole rounds only: every job has its share of seeds, however long the time was.
            if is_whole {
                for (made, more) in made.iter_mut().zip(more) {
                    made.result.join(more.result);
                    made.runs += more.runs;
                    made.planned += more.planned;
                }
            }
        }
        Ok(made)
    }

    /// Makes the runs of one round that are not made yet, as far as there is time; returns all that
    /// are made, and whether these are all that are to be made here.
    fn round<P: Part + Serialize + DeserializeOwned, E: ToString>(
        &self,
        round: &Round<'_>,
        run: &(impl Fn(usize, u64, &mut P) -> Result<(), E> + Sync),
        bug: &dyn Fn(Broken) -> anyhow::Error,
    ) -> anyhow::Result<(Vec<Made<P>>, bool)> {
        let &Round {
            stage,
            name,
            seeds,
            threads,
        } = round;
        let parts = Parts::of(seeds, stage, self.shards);
        let items = Items {
            doing: stage.doing,
            name,
            count: parts.count,
            jobs: seeds.len(),
            job: &|place| parts.get(place).0,
            turn: &|place| match stage.by {
                By::Seeds => place,
                By::Job => parts.get(place).0,
            },
            is_wanted: &|_| true,
            runs: &|place| length(&parts.get(place).1) * stage.runs_each,
            is_needed: name == stage.name,
        };
        let (kept, is_whole) = self.items(&items, |open, progress, keep| {
            let ranges: Vec<Range<u64>> = open.iter().map(|place| parts.get(*place).1).collect();
            let run = |range: usize, seed, part: &mut P| run(parts.get(open[range]).0, seed, part);
            let keep = |range: usize, part: P| keep(open[range], part);
            let stop = self.session.stop.flag();
            let ran = batch::collect(
                &ranges,
                threads,
                stop,
                &|seeds| progress.add(seeds * stage.runs_each),
                &keep,
                run,
            );
            ran.map_err(|broken| {
                bug(Broken {
                    job: parts.get(open[broken.job]).0,
                    ..broken
                })
            })
        })?;
        let made = |(kept, seeds): (Kept<P>, &Range<u64>)| Made {
            result: kept.result,
            runs: kept.runs,
            planned: length(seeds) * stage.runs_each,
        };
        let jobs = kept.into_iter().zip(seeds).map(made).collect();
        Ok((jobs, is_whole))
    }

    /// Does the parts of a stage that are not done yet: calls `execute` with their places, what
    /// shows the progress, and a function to call with each finished part. Returns what is done of
    /// each job, and whether that is all that is to be done here.
    ///
    /// # Errors
    ///
    /// That of `execute`; if a part cannot be saved; if shards are joined, and a part is missing or
    /// is not what its shard can have made.
    pub fn items<T: Part + Serialize + DeserializeOwned>(
        &self,
        items: &Items<'_>,
        execute: impl FnOnce(&[usize], &Progress, &(dyn Fn(usize, T) + Sync)) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Vec<Kept<T>>, bool)> {
        let &Items { doing, name, .. } = items;
        let joined = &self.session.joined;
        let mut kept: Vec<Kept<T>> = Vec::new();
        kept.resize_with(items.jobs, Kept::default);
        lock(&self.ledger).each(name, &mut |shard, done| items.take(&mut kept, shard, done))?;
        let is_done = |place: usize| kept[(items.job)(place)].parts.has(place);
        let here = |place: &usize| items.is_of(self.session.shard, *place);
        let open = (0..items.count).filter(here);
        let open: Vec<usize> = open.filter(|place| !is_done(*place)).collect();
        let left = sum(open.iter().map(|place| (items.runs)(*place)));
        let before = runs(&kept);
        let planned = before.saturating_add(left);
        let plan = items.is_needed.then_some(planned);
        if !joined.is_empty() && items.is_needed && !open.is_empty() {
            bail!(self.why_unfinished(items, &open));
        }
        let mut executed = Ok(());
        if joined.is_empty() {
            if before > 0 {
                status!(
                    "  {} of {} runs were already done",
                    thousands(before),
                    thousands(planned)
                );
            }
            let begun = self.begin_stage(name, plan, &kept);
            begun.context("cannot save what was finished")?;
            let progress = Progress::new(doing, left);
            let (failed, all) = (Mutex::new(None), Mutex::new(kept));
            let keep = |place: usize, result: T| {
                let (mut ledger, mut all) = (lock(&self.ledger), lock(&all));
                let part = Kept {
                    parts: Places::one(place),
                    runs: (items.runs)(place),
                    result,
                };
                let mut saved = part.done(name).and_then(|done| ledger.add(done));
                all[(items.job)(place)].join(part);
                if saved.is_ok() && ledger.is_long() {
                    saved = ledger.compact(name, plan, &mut finished(name, &all));
                }
                if let Err(error) = saved {
                    lock(&failed).get_or_insert(error);
                    self.session.stop.now();
                }
            };
            if !open.is_empty() {
                executed = execute(&open, &progress, &keep);
            }
            progress.clear();
            let error = lock(&failed).take();
            if let Some(error) = error {
                return Err(error).context("cannot save a finished part");
            }
            kept = lock(&all).split_off(0);
            if self.session.shard.is_some() {
                let compacted = lock(&self.ledger).compact(name, plan, &mut finished(name, &kept));
                compacted.context("cannot save what is finished")?;
            }
        }
        executed?;
        let made = runs(&kept);
        if items.is_needed {
            self.planned.fetch_add(planned, Ordering::Relaxed);
            self.made.fetch_add(made, Ordering::Relaxed);
        }
        Ok((kept, made == planned))
    }

    /// Writes how much there is to do, and without what was not accepted of what was done before.
    fn begin_stage<T: Part + Serialize>(
        &self,
        name: &str,
        plan: Option<u64>,
        kept: &[Kept<T>],
    ) -> io::Result<()> {
        let mut ledger = lock(&self.ledger);
        match (ledger.has(name), plan) {
            (true, plan) => ledger.compact(name, plan, &mut finished(name, kept)),
            (false, Some(runs)) => ledger.plan(name, runs),
            (false, None) => Ok(()),
        }
    }

    /// Which shards are not finished, as some parts are missing.
    fn why_unfinished(&self, items: &Items<'_>, open: &[usize]) -> String {
        let of = self.shards as usize;
        let numbers = open.iter().map(|place| (items.turn)(*place) % of + 1);
        let numbers: VecSet<usize> = numbers.collect();
        let numbers: Vec<usize> = numbers.into_iter().collect();
        format!(
            "{} not finished: {} of {} parts are missing; run the same command again to resume",
            ledger::are(&numbers, of),
            open.len(),
            items.count
        )
    }

    /// Ends the work: removes the ledger when all is done, unless `keep` is set or it is that of a
    /// shard; otherwise says how to resume.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be removed.
    pub fn end(self, keep: bool) -> anyhow::Result<Ended> {
        let (made, planned) = (self.made.into_inner(), self.planned.into_inner());
        let stop = &self.session.stop;
        if made < planned {
            let (made, planned) = (thousands(made), thousands(planned));
            let advice = format!("stopped after {made} of {planned} runs; run it again to resume");
            return Ok(match stop.is_by_user() {
                true => Ended::Interrupted(advice),
                false => Ended::OutOfTime(advice),
            });
        }
        if !self.session.joined.is_empty() {
            return Ok(Ended::Whole);
        }
        if let Some(shard) = self.session.shard {
            lock(&self.ledger)
                .complete(made)
                .with_context(|| format!("cannot write {}", self.path.display()))?;
            let (path, program) = (self.path.display(), self.session.program.name());
            return Ok(Ended::Shard(format!(
                "shard {shard} is complete: {path}\njoin all shards with `{program} shards merge FILE…`"
            )));
        }
        if !keep {
            match fs::remove_file(&self.path) {
                // Another command that did the same in this folder was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => {
                    removed.with_context(|| format!("cannot remove {}", self.path.display()))?;
                }
            }
        }
        Ok(match stop.is_by_user() {
            // During the further runs of a budget.
            true => Ended::Stopped,
            false => Ended::Whole,
        })
    }
}

/// One round of a stage.
struct Round<'a> {
    stage: &'a Stage,
    /// Its name in the ledger.
    name: &'a str,
    /// The seeds of each job.
    seeds: &'a [Range<u64>],
    threads: usize,
}

#[cfg(test)]
pub mod tests;
