//! The weights of violating runs, as sums that do not depend on the order of the runs.

use locklab_evidence::Weighted;
use serde::{Deserialize, Serialize};

/// Sums are kept in units of 2⁻³²: sums of whole numbers are the same in any order. A weight is at most 2, so
/// there is room for 2³⁰ runs.
const UNIT: f64 = (1_u64 << 32) as f64;

/// The weights of the runs that violate a property.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Weights {
    violated: u64,
    sum: u64,
    squares: u64,
}

impl Weights {
    /// Adds a violating run with this weight.
    pub(crate) fn add(&mut self, weight: f64) {
        let whole = |number: f64| (number * UNIT).round() as u64;
        self.join(Weights {
            violated: 1,
            sum: whole(weight),
            squares: whole(weight * weight),
        });
    }

    /// How many runs they are of.
    pub(crate) fn violated(self) -> u64 {
        self.violated
    }

    /// Adds those of other runs.
    pub(crate) fn join(&mut self, other: Weights) {
        self.violated += other.violated;
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// What they come to, of so many runs.
    pub(crate) fn of(self, runs: u64) -> Weighted {
        let sums = [self.sum, self.squares].map(|sum| sum as f64 / UNIT);
        Weighted::of_sums(runs, self.violated, sums)
    }
}
