//! What the runs of one lock come to, what they met, and from what they were chosen.

use locklab_check::{Property, Verdict};
use locklab_results::Cell;
use locklab_runner::batch::Part;
use locklab_runner::judged::JudgedRun;
use locklab_situations::{Situation, Subject, met};
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use crate::campaign::strategy::{Chosen, missed};

/// The runs of one lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Their counts.
    pub(super) cell: Cell,
    /// How many of them met each situation; those that none met are left out.
    pub(super) met: VecMap<Situation, u64>,
    /// Per property, why runs are inconclusive, and how many.
    pub(super) whys: VecMap<Property, VecMap<String, u64>>,
    /// The steps of all runs from which these were chosen, and the faults that can be placed there.
    #[serde(default, skip_serializing_if = "is_zero")]
    steps: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    placements: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a search at steps would miss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct WouldMiss {
    /// The mean number of steps of a run.
    pub(super) steps: f64,
    /// The mean number of placements in a run.
    pub(super) placements: f64,
    /// The probability that no run has one given placement.
    pub(super) one: f64,
    /// The probability that no run has two given placements.
    pub(super) two: f64,
}

impl Searched {
    /// Adds a run.
    pub(super) fn add(&mut self, seed: u64, run: &JudgedRun, chosen: &Chosen<'_>) {
        self.cell.add(seed, &run.judged());
        let drawn = &chosen.drawn.scenario;
        let subject = Subject {
            history: &run.history,
            contents: run.contents.as_ref(),
            topology: &drawn.topology,
            lock: &drawn.lock,
        };
        for situation in met(&subject) {
            *self.met.entry(situation).or_default() += 1;
        }
        for (property, verdict) in &run.verdicts {
            if let Verdict::Inconclusive { why } = verdict {
                let whys = self.whys.entry(*property).or_default();
                *whys.entry(why.clone()).or_default() += 1;
            }
        }
        self.steps += chosen.space.steps;
        self.placements += chosen.space.placements;
    }

    /// How many runs met a situation.
    pub(super) fn met(&self, situation: Situation) -> u64 {
        self.met.get(&situation).copied().unwrap_or_default()
    }

    /// The most frequent reason why runs are inconclusive for a property; of several the first in the
    /// order of the alphabet.
    pub(super) fn why(&self, property: Property) -> Option<&str> {
        let whys = self.whys.get(&property)?.iter();
        let most = whys.rev().max_by_key(|(_, runs)| **runs);
        most.map(|(why, _)| why.as_str())
    }

    /// What so many runs would miss; `None` if they were not chosen from placements.
    pub(super) fn would_miss(&self, runs: u64) -> Option<WouldMiss> {
        let mean = |sum: u64| sum as f64 / runs.max(1) as f64;
        let placements = mean(self.placements);
        (self.placements > 0).then(|| WouldMiss {
            steps: mean(self.steps),
            placements,
            one: missed(placements, runs, 1),
            two: missed(placements, runs, 2),
        })
    }

    /// Why its situations and its reasons cannot be those of so many runs.
    fn why_not_counted(&self, runs: u64) -> Option<String> {
        if let Some((situation, met)) = self.met.iter().find(|(_, met)| **met > runs) {
            return Some(format!("{met} of {runs} runs met {situation}"));
        }
        let inconclusive = |property: &Property| {
            let tally = self.cell.tallies.get(property);
            tally.map_or(0, |tally| tally.inconclusive)
        };
        let reasons = |property: &Property| {
            let whys = self.whys.get(property).into_iter();
            let runs = whys.flat_map(VecMap::values);
            runs.fold(0, |sum: u64, runs| sum.saturating_add(*runs))
        };
        let mut properties = self.cell.tallies.keys().chain(self.whys.keys());
        let wrong = properties.find(|it| inconclusive(it) != reasons(it))?;
        Some(format!(
            "it has {} reasons for {} inconclusive runs of {wrong}",
            reasons(wrong),
            inconclusive(wrong)
        ))
    }
}

impl Part for Searched {
    fn join(&mut self, other: Self) {
        self.cell.merge(other.cell);
        for (situation, runs) in other.met {
            *self.met.entry(situation).or_default() += runs;
        }
        for (property, whys) in other.whys {
            let all = self.whys.entry(property).or_default();
            for (why, runs) in whys {
                *all.entry(why).or_default() += runs;
            }
        }
        self.steps += other.steps;
        self.placements += other.placements;
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let why = self.cell.why_not(runs);
        why.or_else(|| self.why_not_counted(runs))
    }
}
