//! What the runs of one lock come to, and from what they were chosen.

use locklab_results::Cell;
use locklab_runner::batch::Part;
use locklab_runner::judged::JudgedRun;
use serde::{Deserialize, Serialize};

use crate::strategy::{Chosen, missed};

/// The runs of one lock.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Searched {
    /// Their counts.
    pub(super) cell: Cell,
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
        self.steps += chosen.space.steps;
        self.placements += chosen.space.placements;
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
        self.steps += other.steps;
        self.placements += other.placements;
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        self.cell.why_not(runs)
    }
}
