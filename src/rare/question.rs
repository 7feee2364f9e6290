//! What is asked: the rate of which property in which scenario, and on how many threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use locklab_check::{Property, Verdict};
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::judged::JudgedRun;
use locklab_runner::pool::{Broken, lock, run_chunks};
use locklab_values::random::{Rng, Stream};

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

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RareError {
    /// A run failed or panicked.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The user has stopped it.
    #[error("stopped before there was a result")]
    Stopped,
    /// Importance sampling has nothing to draw.
    #[error(
        "importance sampling needs a fault whose duration_ms or extra_ms is random, such as \
         {{ exponential = 100 }}; write --by splitting or --by plain"
    )]
    NothingRandom,
}

impl Question<'_> {
    /// The seed of a run of one method.
    pub(crate) fn seed_of(&self, method: &str, number: u64) -> u64 {
        Stream::new(self.seed, &format!("rare/{method}/{number}")).next_u64()
    }

    /// Whether a run violates the property.
    pub(crate) fn is_violated(&self, run: &JudgedRun) -> bool {
        let verdict = run.verdicts.get(&self.property);
        matches!(verdict, Some(Verdict::Violated(_)))
    }

    /// What `one` makes of each number, in their order, so that sums do not depend on the threads.
    pub(crate) fn each<T: Send>(
        &self,
        numbers: Range<u64>,
        one: impl Fn(u64) -> Result<T, RunError> + Sync,
    ) -> Result<Vec<T>, RareError> {
        let made = Mutex::new(BTreeMap::new());
        let add = |_, numbers: Range<u64>, part: Vec<T>| {
            lock(&made).extend(numbers.zip(part));
        };
        let run = |_, number, part: &mut Vec<T>| -> Result<(), RunError> {
            part.push(one(number)?);
            Ok(())
        };
        run_chunks(&[numbers], self.threads, self.stop, run, add)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(RareError::Stopped);
        }
        let made = made.into_inner();
        let made = made.unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(made.into_values().collect())
    }
}
