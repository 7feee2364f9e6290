//! The results of many runs: counts per property, per cell of a sweep's grid.
//!
//! Reports read these, and recorded histories.

mod axis;
pub mod csv;
pub mod loss;
pub mod pace;
pub mod run_row;
pub mod table;
pub mod writes;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::axis::Axis;
use self::loss::LossRate;
use self::pace::PaceCounts;
pub use self::run_row::{Detail, Outcome, RunRow};
use self::writes::WriteCounts;
use crate::check::Property;
use crate::evidence::Tally;

/// The version of the results' JSON and CSV; `docs/formats.md` describes it. It grows when a field
/// changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// The runs of one scenario with one set of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The varied parameters of this cell, in the order of the `--vary` options:
    /// path in the scenario, and value as TOML spells it.
    pub parameters: Vec<(String, String)>,
    /// Per property, the counts of the verdicts.
    pub tallies: BTreeMap<Property, Tally>,
    /// Per violated property, the run with the earliest violation.
    pub shortest: BTreeMap<Property, Shortest>,
    /// For clients that add to a set: how much acknowledged data was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRate>,
    /// The runs in the order of their seeds, if they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRow>,
    /// What became of the writes to the resource.
    #[serde(default)]
    pub writes: WriteCounts,
    /// Where the lock has a time to recover from faults: how often it was granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceCounts>,
    /// A hash over all events of all runs: equal for equal runs, independent of their order and
    /// of the number of threads.
    pub fingerprint: u64,
}

/// The run whose violation has the smallest true time; ties are resolved by seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shortest {
    /// True time of the violation in nanoseconds.
    pub at_ns: u64,
    /// The seed of that run.
    pub seed: u64,
}

/// A sweep: one scenario over a grid of parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// The scenario's name: its path below `scenarios/` without `.toml`.
    pub scenario: String,
    /// The scenario's title, for headings.
    pub title: String,
    /// The scenario's overrides, each `path=value`.
    pub overrides: Vec<String>,
    /// The varied parameters, in the order of [`Cell::parameters`].
    pub axes: Vec<Axis>,
    /// The first seed of the first cell.
    pub first_seed: u64,
    /// The number of runs of each cell.
    pub seeds: u64,
    /// How the seeds of the cells are chosen.
    pub seeding: Seeding,
    /// The cells in the order of the grid: the last varied parameter changes fastest.
    pub cells: Vec<Cell>,
}

/// How the seeds of a sweep's cells are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeding {
    /// The same in every cell (common random numbers): good for comparing cells,
    /// because the errors of their rates are correlated.
    #[default]
    Common,
    /// Different in every cell: the errors are independent, so that points may be combined.
    Independent,
}

impl Seeding {
    /// The seeds of the cell at this index, if the cell at index 0 has those of `first`.
    pub fn seeds(self, place: usize, first: Range<u64>) -> Range<u64> {
        let each = first.end - first.start;
        let begin = match self {
            Seeding::Common => first.start,
            Seeding::Independent => first
                .start
                .saturating_add((place as u64).saturating_mul(each)),
        };
        begin..begin.saturating_add(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_cells_share_no_seed() {
        assert_eq!(Seeding::Common.seeds(3, 0..10), 0..10);
        assert_eq!(Seeding::Independent.seeds(0, 5..15), 5..15);
        assert_eq!(Seeding::Independent.seeds(3, 5..15), 35..45);
    }
}
