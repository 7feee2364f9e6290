//! What a prediction rests on.

use serde::{Deserialize, Serialize};

/// A rate from here on is that of what always happens.
const ALWAYS: f64 = 0.95;

/// What a prediction rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The rate follows from a formula, and a test compares them.
    Calculated,
    /// It happens always or never, by how the lock works.
    Mechanism,
    /// The rate was measured before. It guards a number, and predicts nothing.
    Measured,
}

impl Basis {
    /// Its spelling in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Calculated => "calculated",
            Basis::Mechanism => "mechanism",
            Basis::Measured => "measured",
        }
    }

    /// The basis of a rate that does not say it.
    pub(super) fn of(rate: Option<[f64; 2]>) -> Basis {
        match rate {
            Some([a, _]) if a < ALWAYS => Basis::Measured,
            _ => Basis::Mechanism,
        }
    }
}
