//! The runs of an experiment, in parts that are kept as they are finished.
//!
//! This is the one place that resumes interrupted work, takes a shard of it, joins shards, and goes
//! on with further seeds until a budget of time is over.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ledger::{Header, Ledger};
use super::output::status;
use super::parts::{By, Rounds, Stage, further, length, parts};
use super::progress::Progress;
use super::session::Session;
use super::store::Store;
use locklab_evidence::thousands;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::{self, Job, Part};
use locklab_runner::pool::{Broken, lock};

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
    /// Its budget of time was over.
    OutOfTime(String),
}

impl Ended {
    /// What the user can do next, if anything is left.
    pub fn advice(&self) -> Option<&str> {
        match self {
            Ended::Whole => None,
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
        let parts = parts(seeds, stage, self.shards);
        let belongs = |place: usize| match (self.session.shard, stage.by) {
            (None, _) => true,
            (Some(shard), By::Seeds) => shard.has(place),
            (Some(shard), By::Job) => shard.has(parts[place].0),
        };
        let items = Items {
            doing: stage.doing,
            name,
            count: parts.len(),
            belongs: &belongs,
            runs: &|place| length(&parts[place].1),
            is_needed: name == stage.name,
        };
        let made = self.items(&items, |open, progress, keep| {
            let ranges: Vec<Range<u64>> =
                open.iter().map(|place| parts[*place].1.clone()).collect();
            let run = |range: usize, seed, part: &mut P| run(parts[open[range]].0, seed, part);
            let keep = |range: usize, part: &P| keep(open[range], part);
            let stop = self.session.stop.flag();
            let ran = batch::collect(
                &ranges,
                threads,
                stop,
                &|runs| progress.add(runs),
                &keep,
                run,
            );
            ran.map(drop).map_err(|broken| {
                bug(Broken {
                    job: parts[open[broken.job]].0,
                    ..broken
                })
            })
        })?;
        let is_whole = (0..parts.len())
            .filter(|place| belongs(*place))
            .all(|place| made.contains_key(&place));
        let planned = |seeds: &Range<u64>| Made {
            result: P::default(),
            runs: 0,
            planned: length(seeds),
        };
        let mut jobs: Vec<Made<P>> = seeds.iter().map(planned).collect();
        for (place, result) in made {
            let (job, seeds) = &parts[place];
            jobs[*job].result.join(result);
            jobs[*job].runs += length(seeds);
        }
        Ok((jobs, is_whole))
    }

    /// Does the parts of a stage that are not done yet: calls `execute` with their places, what
    /// shows the progress, and a function to call with each finished part. Returns all that are
    /// done, by their places.
    ///
    /// # Errors
    ///
    /// That of `execute`; if a part cannot be saved; if shards are joined, and a part is missing.
    pub fn items<T: Clone + Send + Serialize + DeserializeOwned>(
        &self,
        items: &Items<'_>,
        execute: impl FnOnce(&[usize], &Progress, &(dyn Fn(usize, &T) + Sync)) -> anyhow::Result<()>,
    ) -> anyhow::Result<BTreeMap<usize, T>> {
        let &Items {
            doing,
            name,
            count,
            belongs,
            runs,
            is_needed,
        } = items;
        let mut done: BTreeMap<usize, T> = lock(&self.ledger).take(name);
        done.retain(|place, _| *place < count);
        let all =
            |places: &mut dyn Iterator<Item = usize>| places.map(runs).fold(0, u64::saturating_add);
        let here: Vec<usize> = (0..count).filter(|place| belongs(*place)).collect();
        let open: Vec<usize> = here
            .iter()
            .copied()
            .filter(|place| !done.contains_key(place))
            .collect();
        let (planned, before) = (
            all(&mut here.iter().copied()),
            all(&mut done.keys().copied()),
        );
        let is_joining = !self.session.joined.is_empty();
        if is_joining {
            if let Some(place) = open.first().filter(|_| is_needed) {
                bail!(
                    "a shard is not finished: {} of {count} parts are missing, the first is part \
                     {place}; run its command again to resume it",
                    open.len()
                );
            }
        } else if !done.is_empty() {
            status!(
                "  {} of {} runs were already done",
                thousands(before),
                thousands(planned)
            );
        }
        let progress = Progress::new(doing, all(&mut open.iter().copied()));
        let failed = Mutex::new(None);
        let fresh = Mutex::new(BTreeMap::new());
        let keep = |place: usize, result: &T| {
            if let Err(error) = lock(&self.ledger).add(name, place, result) {
                lock(&failed).get_or_insert(error);
                self.session.stop.now();
            }
            lock(&fresh).insert(place, result.clone());
        };
        let executed = match open.is_empty() || is_joining {
            true => Ok(()),
            false => execute(&open, &progress, &keep),
        };
        progress.clear();
        if let Some(error) = lock(&failed).take() {
            return Err(error).context("cannot save a finished part");
        }
        executed?;
        done.append(&mut lock(&fresh));
        if is_needed {
            self.planned.fetch_add(planned, Ordering::Relaxed);
            self.made
                .fetch_add(all(&mut done.keys().copied()), Ordering::Relaxed);
        }
        Ok(done)
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
            let (path, program) = (self.path.display(), self.session.program.name());
            return Ok(Ended::Shard(format!(
                "shard {shard} is complete: {path}\njoin all shards with `{program} merge FILE…`"
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
            true => Ended::Interrupted("stopped".into()),
            false => Ended::Whole,
        })
    }
}

/// Parts of some work.
pub struct Items<'a> {
    /// What is being done, for people.
    pub doing: &'a str,
    /// Their name in the ledger.
    pub name: &'a str,
    /// How many there are.
    pub count: usize,
    /// Whether one is to be done here.
    pub belongs: &'a dyn Fn(usize) -> bool,
    /// The number of runs of one.
    pub runs: &'a dyn Fn(usize) -> u64,
    /// Whether the work is incomplete without them.
    pub is_needed: bool,
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
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::Stop;
    use crate::bench::Bench;
    use locklab_model::scenario::load;

    impl Bench {
        fn work(&self) -> Work<'_> {
            Work::begin(&self.0, &self.0.store, "work", &"some work").expect("it begins")
        }

        fn cells(&self, work: &Work<'_>) -> Vec<Made<Cell>> {
            let stage = Stage {
                part: 2,
                ..Stage::SIMULATED
            };
            let bug = |broken: Broken| anyhow!(broken);
            work.cells(&stage, &jobs(), Detail::Counts, &bug)
                .expect("it runs")
        }
    }

    fn jobs() -> Vec<Job> {
        let job = |name| Job::of(&load(name, &[]).expect("it ships"), 0..3);
        ["kleppmann/k1", "kleppmann/k5"].map(job).into()
    }

    #[test]
    fn a_finished_part_is_not_run_again_and_the_whole_is_the_same() {
        let bench = Bench::new("resume");
        let work = bench.work();
        let whole = bench.cells(&work);
        assert_eq!(work.end(false).expect("it ends"), Ended::Whole);
        assert!(!bench.0.store.path("work.jsonl").exists());

        // As if it was interrupted after the second part, whose result is marked.
        let work = bench.work();
        let mut marked = Cell::default();
        jobs()[0]
            .add(2, Detail::Counts, &mut marked)
            .expect("it runs");
        marked.fingerprint = marked.fingerprint.wrapping_add(1);
        lock(&work.ledger)
            .add("runs", 1, &marked)
            .expect("it is written");
        drop(work);
        let work = bench.work();
        let mut expected = whole;
        let fingerprint = &mut expected[0].result.fingerprint;
        *fingerprint = fingerprint.wrapping_add(1);
        assert_eq!(bench.cells(&work), expected);
    }

    #[test]
    fn stopped_work_keeps_its_ledger() {
        static STOPPED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
        let mut bench = Bench::new("stopped");
        bench.0.stop = Stop::by_user(&STOPPED);
        let work = bench.work();
        assert!(bench.cells(&work).iter().all(|made| made.runs == 0));
        let ended = work.end(false).expect("it ends");
        assert!(matches!(ended, Ended::Interrupted(_)), "{ended:?}");
        assert!(bench.0.store.path("work.jsonl").exists());
    }
}
