//! What is asked: the rate of which property in which scenario, and on how many threads.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use locklab_check::Property;
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::judged::JudgedRun;
use locklab_values::random::{Rng, Stream};

use crate::each::each;
use crate::error::RareError;

/// What is asked, and how it is answered.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its property.
    pub property: Property,
    /// The seed from which the seeds of all runs follow.
    pub seed: u64,
    /// How many runs the answer may take; each method says which runs these are.
    pub runs: u64,
    /// Threads to run on. The answer does not depend on them.
    pub threads: usize,
    /// Once it is set, no further run is made.
    pub stop: &'a AtomicBool,
    /// Is called with the number of runs that were just made.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Question<'_> {
    /// The seed of a run of one method.
    pub(crate) fn seed_of(&self, method: &str, number: u64) -> u64 {
        Stream::new(self.seed, &format!("rare/{method}/{number}")).next_u64()
    }

    /// Whether a run violates the property.
    pub(crate) fn is_violated(&self, run: &JudgedRun) -> bool {
        run.violates(self.property)
    }

    /// What `one` makes of each number; see [`each`].
    pub(crate) fn each<T: Send>(
        &self,
        numbers: Range<u64>,
        one: impl Fn(u64) -> Result<T, RunError> + Sync,
    ) -> Result<Vec<T>, RareError> {
        each(numbers, self.threads, self.stop, one)
    }
}
