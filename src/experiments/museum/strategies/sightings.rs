//! The runs of a search that violate the property.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;
use locklab_check::Property;
use locklab_runner::RunError;
use locklab_runner::judged::JudgedRun;
use locklab_runner::simulate::Keep;

use super::cpu;
use super::sighting::{Cost, Sighting};
use super::way::Search;
use crate::museum::trial::at_their_times;
use crate::strategy::Rehearsals;

/// The sightings of a search in this process, in the order of the seeds.
pub(super) struct Sightings<'s> {
    search: &'s Search,
    property: Property,
    seeds: Range<u64>,
    /// Its own, so that it pays for them.
    rehearsals: Rehearsals,
    /// The search ends when it has made so many runs.
    limit: u64,
    runs: u64,
    spent: Duration,
    stop: &'s AtomicBool,
}

impl<'s> Sightings<'s> {
    /// Searches with these seeds, and with as many runs at most, or until this flag is set.
    pub(super) fn of(
        search: &'s Search,
        property: Property,
        seeds: Range<u64>,
        stop: &'s AtomicBool,
    ) -> Sightings<'s> {
        Sightings {
            search,
            property,
            limit: seeds.end - seeds.start,
            seeds,
            rehearsals: Rehearsals::of_threads(1),
            runs: 0,
            spent: Duration::ZERO,
            stop,
        }
    }

    /// The run of a seed, which the search pays for.
    fn run(&mut self, seed: u64) -> Result<JudgedRun, RunError> {
        let began = cpu::of_this_thread();
        let chosen = self.search.choose(seed, &self.rehearsals)?;
        let run = chosen.run(Keep::default())?;
        self.spent += cpu::of_this_thread().saturating_sub(began);
        self.runs += 1 + chosen.rehearsals;
        Ok(run)
    }

    fn sighting(&mut self) -> anyhow::Result<Option<Sighting>> {
        while let Some(seed) = self.seeds.next() {
            if self.stop.load(Ordering::Relaxed) {
                bail!("the search was stopped");
            }
            let run = self.run(seed)?;
            if self.runs > self.limit {
                break;
            }
            if run.violates(self.property) {
                return Ok(Some(Sighting {
                    seed,
                    cost: Cost::new(self.runs, self.spent),
                    at_their_times: at_their_times(&run),
                    faults: run.schedule,
                }));
            }
        }
        Ok(None)
    }
}

impl Iterator for Sightings<'_> {
    type Item = anyhow::Result<Sighting>;

    fn next(&mut self) -> Option<Self::Item> {
        self.sighting().transpose()
    }
}
