//! What is asked: the rate of which property in which scenario.

use locklab_check::Property;
use locklab_model::scenario::Scenario;
use locklab_runner::judged::JudgedRun;
use locklab_values::random::{Rng, Stream};
use serde::Serialize;

/// What is asked. Serialised, it is everything that runs depend on beside their method and their number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// The scenario.
    pub scenario: Scenario,
    /// Its property.
    pub property: Property,
    /// The seed from which the seeds of all runs follow.
    pub seed: u64,
}

impl Question {
    /// The seed of a run of one method.
    pub(crate) fn seed_of(&self, method: &str, number: u64) -> u64 {
        Stream::new(self.seed, &format!("rare/{method}/{number}")).next_u64()
    }

    /// Whether a run violates the property.
    pub(crate) fn is_violated(&self, run: &JudgedRun) -> bool {
        run.violates(self.property)
    }
}
