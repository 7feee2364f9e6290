//! The ways to estimate a rate.

use locklab_model::scenario::Scenario;
use serde::Serialize;

use crate::rare::estimators::lengths::Lengths;

/// A way to estimate a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Method {
    /// Long faults are drawn more often, and runs are weighed.
    Sampling,
    /// Runs that come near to a violation are copied.
    Splitting,
    /// Runs of the scenario are counted.
    Plain,
}

impl Method {
    /// The one that usually needs the fewest runs.
    pub fn usual(scenario: &Scenario) -> Method {
        match Lengths::of(scenario).is_some_and(|it| it.have_tails()) {
            true => Method::Sampling,
            false => Method::Splitting,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sampling => "sampling",
            Method::Splitting => "splitting",
            Method::Plain => "plain",
        }
    }
}
