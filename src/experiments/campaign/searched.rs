//! What the runs of one lock come to, and from what they were chosen.

use std::collections::BTreeMap;

use locklab_check::{Property, Verdict};
use locklab_evidence::Weighted;
use locklab_results::Cell;
use locklab_runner::batch::Part;
use locklab_runner::judged::JudgedRun;
use serde::{Deserialize, Serialize};

use crate::strategy::{Chosen, Strategy, Weights, missed};

/// The runs of one lock.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Searched {
    /// Their counts.
    pub(super) cell: Cell,
    /// The weights of those that violate a property, if the strategy has weights.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    weights: BTreeMap<Property, Weights>,
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
    pub(super) fn add(&mut self, seed: u64, run: &JudgedRun, chosen: &Chosen<'_>, by: Strategy) {
        self.cell.add(seed, &run.judged());
        self.steps += chosen.space.steps;
        self.placements += chosen.space.placements;
        if by.has_weights() {
            for (property, verdict) in &run.verdicts {
                if let Verdict::Violated(_) = verdict {
                    let weights = self.weights.entry(*property).or_default();
                    weights.add(chosen.weight);
                }
            }
        }
    }

    /// The weighted rate of a property.
    pub(super) fn weighted(&self, property: Property) -> Weighted {
        let tally = self.cell.tallies.get(&property).copied();
        let runs = tally.unwrap_or_default().runs();
        let weights = self.weights.get(&property).copied();
        weights.unwrap_or_default().of(runs)
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
}

impl Part for Searched {
    fn join(&mut self, other: Self) {
        self.cell.merge(other.cell);
        for (property, weights) in other.weights {
            self.weights.entry(property).or_default().join(weights);
        }
        self.steps += other.steps;
        self.placements += other.placements;
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let violated = |property| {
            let tally = self.cell.tallies.get(property).copied();
            tally.unwrap_or_default().violated
        };
        let mut weights = self.weights.iter();
        let wrong = weights.find(|(property, weights)| weights.violated() != violated(property));
        let wrong =
            wrong.map(|(property, _)| format!("its weights of {property} are of other runs"));
        self.cell.why_not(runs).or(wrong)
    }
}
