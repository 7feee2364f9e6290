//! The parts of a stage, and what is finished of its jobs.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;

use crate::Shard;
use crate::ledger::{Done, Places};
use locklab_runner::batch::Part;

/// Parts of some work.
pub struct Items<'a> {
    /// What is being done, for people.
    pub doing: &'a str,
    /// Their name in the ledger.
    pub name: &'a str,
    /// How many there are.
    pub count: usize,
    /// How many jobs they are of.
    pub jobs: usize,
    /// The job of one.
    pub job: &'a (dyn Fn(usize) -> usize + Sync),
    /// By what shards take turns: the n-th of these is of the n-th shard, and so on.
    pub turn: &'a dyn Fn(usize) -> usize,
    /// Whether one is to be done at all.
    pub is_wanted: &'a dyn Fn(usize) -> bool,
    /// The number of runs of one.
    pub runs: &'a (dyn Fn(usize) -> u64 + Sync),
    /// Whether the work is incomplete without them.
    pub is_needed: bool,
}

impl Items<'_> {
    /// Whether this shard has to do one.
    pub(super) fn is_of(&self, shard: Option<Shard>, place: usize) -> bool {
        (self.is_wanted)(place) && shard.is_none_or(|shard| shard.has((self.turn)(place)))
    }

    /// Adds what a file has of finished parts; says why not, if its shard cannot have made that.
    pub(super) fn take<T: Part + DeserializeOwned>(
        &self,
        kept: &mut [Kept<T>],
        shard: Option<Shard>,
        done: Done,
    ) -> Result<(), String> {
        let Done { parts, runs, .. } = done;
        let result: T = serde_json::from_str(done.result.get())
            .map_err(|_| "this is no result of the stage")?;
        let first = parts.iter().next().filter(|place| *place < self.count);
        let job = first.map(self.job).ok_or("there is no such part")?;
        for place in parts.iter() {
            if place >= self.count || (self.job)(place) != job {
                return Err("there is no such part".into());
            }
            if !self.is_of(shard, place) {
                return Err(format!("part {place} is of another shard"));
            }
            if kept[job].parts.has(place) {
                return Err(format!("part {place} is there twice"));
            }
        }
        let planned = sum(parts.iter().map(self.runs));
        if runs != planned {
            return Err(format!("its parts have {planned} runs, not {runs}"));
        }
        if let Some(why) = result.why_not(runs) {
            return Err(why);
        }
        kept[job].join(Kept {
            parts,
            runs,
            result,
        });
        Ok(())
    }
}

/// What is finished of a job.
#[derive(Debug, Clone, Default)]
pub struct Kept<T> {
    /// The parts.
    pub parts: Places,
    /// The number of their runs.
    pub runs: u64,
    /// What they come to together.
    pub result: T,
}

impl<T: Part> Kept<T> {
    pub(super) fn join(&mut self, other: Kept<T>) {
        self.parts.join(&other.parts);
        self.runs += other.runs;
        self.result.join(other.result);
    }
}

impl<T: Serialize> Kept<T> {
    /// As the ledger keeps it.
    pub(super) fn done(&self, stage: &str) -> io::Result<Done> {
        Ok(Done {
            stage: stage.to_owned(),
            parts: self.parts.clone(),
            runs: self.runs,
            result: to_raw_value(&self.result)?,
        })
    }
}

/// What is finished of each job of which anything is.
pub(super) fn finished<T: Serialize>(
    stage: &str,
    kept: &[Kept<T>],
) -> impl Iterator<Item = io::Result<Done>> {
    let begun = kept.iter().filter(|kept| !kept.parts.is_empty());
    begun.map(move |kept| kept.done(stage))
}

/// The number of runs that are finished.
pub(super) fn runs<T>(kept: &[Kept<T>]) -> u64 {
    sum(kept.iter().map(|kept| kept.runs))
}

pub(super) fn sum(runs: impl Iterator<Item = u64>) -> u64 {
    runs.fold(0, u64::saturating_add)
}
