//! The results of many runs: counts per property, per cell of a sweep's grid.
//!
//! Reports read these, and recorded histories.

mod axis;
mod cell;
pub mod csv;
pub mod loss;
mod observable;
pub mod pace;
pub mod per_run;
mod promised;
pub mod reactions;
pub mod recording;
mod run_row;
pub mod table;
pub mod writes;

use std::ops::Range;

use serde::Serialize;

pub use self::axis::Axis;
pub use self::cell::{Cell, Judged, Shortest};
pub use self::observable::{Observable, Sketch};
pub use self::promised::Promised;
pub use self::run_row::{Detail, Outcome, RunRow};

/// The version of the results' JSON and CSV; `docs/formats.md` describes it. It grows when a field
/// changes its meaning or goes.
pub const FORMAT: u32 = 1;

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
