//! What came of many runs: counts per property, per cell of a sweep's grid.
//!
//! Reports read these and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::loss::LossRate;
use crate::check::Property;

/// How often a property held, was violated, or could not be judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs in which it held.
    pub holds: u64,
    /// Runs in which it was violated.
    pub violated: u64,
    /// Runs that could not show it either way.
    pub inconclusive: u64,
}

impl Tally {
    /// Runs that were judged: all but the inconclusive ones.
    pub fn judged(&self) -> u64 {
        self.holds + self.violated
    }

    /// What the runs say together.
    pub fn finding(&self) -> Finding {
        match (self.violated, self.holds) {
            (0, 0) => Finding::Inconclusive,
            (0, _) => Finding::Holds,
            _ => Finding::Violated,
        }
    }

    /// The rate of violations among the judged runs, with its interval, for a person.
    pub fn rate(&self) -> String {
        crate::stats::rate(self.violated, self.judged())
    }
}

/// The runs of one scenario with one set of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The varied parameters of this cell, in the order of the `--vary` options:
    /// path in the scenario, and value as TOML spells it.
    pub parameters: Vec<(String, String)>,
    /// Per property, how the runs came out.
    pub tallies: BTreeMap<Property, Tally>,
    /// Per violated property, the violating run that shows it soonest.
    pub shortest: BTreeMap<Property, Shortest>,
    /// Where clients add to a set: how much of what was acknowledged was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRate>,
    /// Stands for every event of every run: equal for equal runs, in whatever order and
    /// on however many threads they ran.
    pub fingerprint: u64,
}

/// What many runs of one scenario say of a property together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// No judged run violated it.
    Holds,
    /// Some run did.
    Violated,
    /// No run could show it either way.
    Inconclusive,
}

impl Finding {
    /// As files and tables spell it.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Holds => "holds",
            Finding::Violated => "violated",
            Finding::Inconclusive => "inconclusive",
        }
    }
}

/// The violating run with the smallest true time at its violation; ties by seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shortest {
    /// True time of the violation in nanoseconds.
    pub at_ns: u64,
    /// The seed of that run.
    pub seed: u64,
}

/// A sweep: one scenario over a grid of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The scenario's name: its path below `scenarios/` without `.toml`.
    pub scenario: String,
    /// The scenario's title, for headings.
    pub title: String,
    /// The runs of each cell have the seeds `0..seeds`.
    pub seeds: u64,
    /// The cells in the order of the grid: the last varied parameter runs fastest.
    pub cells: Vec<Cell>,
}
