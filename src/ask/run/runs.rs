//! What is kept of the runs of a scenario.

use locklab_check::Property;
use locklab_model::scenario::Scenario;
use locklab_real::series::{LONGEST_STALL_NS, attempt};
use locklab_results::Cell;
use locklab_results::reactions::ReactionCounts;
use locklab_runner::batch::Part;
use locklab_runner::judged::JudgedRun;
use locklab_runner::run::Run;
use locklab_vecmap::{VecMap, VecSet};
use serde::{Deserialize, Serialize};

use crate::meaning::excuse::excuses;

/// Runs of a scenario, with the recordings of those that cannot be repeated.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Runs {
    pub(crate) cell: Cell,
    /// On real Redis: runs that were discarded, since the machine stood still or a process began late.
    pub(crate) discarded: u64,
    /// Why nothing can be judged of programs of others in these runs, by seed.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub(super) mute: VecMap<u64, String>,
    /// What programs of others did that makes no sense, or ended them.
    #[serde(default)]
    pub(super) notes: VecSet<String>,
    /// In how many runs no program used the resource, nor told that it has the lock.
    #[serde(default)]
    pub(super) unshowable: u64,
    /// How programs of others reacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reactions: Option<ReactionCounts>,
    /// Why no lock could have prevented violations by programs of others, and in how many runs.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub(super) excused: VecMap<String, VecMap<Property, u64>>,
    /// The first seeds with a violation that such a program's lock should have prevented.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub(super) blamed: VecMap<Property, u64>,
    /// Which programs of others renewed a lock that they did not have, with the seeds of the runs.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub(super) wrong_renewals: VecMap<String, VecSet<u64>>,
    /// On real Redis: of the first run, and of those that violate something, by seed.
    pub(super) recordings: VecMap<u64, String>,
    /// Scenarios that repeat such runs of programs of others better than their seeds do, by seed.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub(super) again: VecMap<u64, String>,
}

/// Simulated runs.
impl From<Cell> for Runs {
    fn from(cell: Cell) -> Runs {
        Runs {
            cell,
            ..Runs::default()
        }
    }
}

impl Part for Runs {
    fn join(&mut self, other: Self) {
        self.cell.merge(other.cell);
        self.discarded += other.discarded;
        self.mute.extend(other.mute);
        self.notes.extend(other.notes);
        self.unshowable += other.unshowable;
        if let Some(reactions) = other.reactions {
            self.reactions.get_or_insert_default().merge(reactions);
        }
        for (why, excused) in other.excused {
            let all = self.excused.entry(why).or_default();
            for (property, runs) in excused {
                *all.entry(property).or_default() += runs;
            }
        }
        for (what, seeds) in other.wrong_renewals {
            self.wrong_renewals.entry(what).or_default().extend(seeds);
        }
        for (property, seed) in other.blamed {
            self.blame(property, seed);
        }
        self.recordings.extend(other.recordings);
        self.again.extend(other.again);
    }

    /// Attempts that were discarded were made again, or not.
    fn why_not(&self, runs: u64) -> Option<String> {
        let counted = self.cell.writes.runs.min(runs);
        self.cell.why_not(counted)
    }
}

impl Runs {
    /// Makes a run on real servers, again if the machine stood still or a process began late; none if it always did.
    ///
    /// # Errors
    ///
    /// Those of the run.
    pub(crate) fn attempt<E>(
        &mut self,
        make: impl Fn() -> Result<Run, E>,
    ) -> Result<Option<Run>, E> {
        let attempt = attempt(make, LONGEST_STALL_NS)?;
        self.discarded += attempt.discarded;
        Ok(attempt.run)
    }

    /// A lock should have prevented a violation in the run with this seed.
    pub(super) fn blame(&mut self, property: Property, seed: u64) {
        let first = self.blamed.entry(property).or_insert(seed);
        *first = seed.min(*first);
    }

    /// Sorts the violations of a program of somebody else.
    pub(super) fn sort(&mut self, scenario: &Scenario, seed: u64, run: &JudgedRun) {
        for (property, excuse) in excuses(run.into(), scenario) {
            match excuse {
                Some(why) => {
                    let excused = self.excused.entry(why.to_string()).or_default();
                    *excused.entry(property).or_default() += 1;
                }
                None => self.blame(property, seed),
            }
        }
    }

    /// Whether each violation of a property is excused.
    pub(super) fn excuses(&self, property: Property) -> bool {
        !self.blamed.contains_key(&property)
    }
}
