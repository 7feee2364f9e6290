//! Runs without faults, each of which the seeds of a group share.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::pool::lock;

use super::Kinds;
use super::steps::Rehearsal;

/// So many are kept for each thread. One would do if no thread was ever overtaken.
const EACH: usize = 4;

/// Those that were used last. Which ones these are depends on the threads; a run does not, since one that is gone is
/// made again, and is the same.
#[derive(Debug)]
pub(crate) struct Rehearsals {
    kept: usize,
    /// The one that was used last is the last.
    recent: Mutex<VecDeque<(Key, Arc<Rehearsal>)>>,
}

/// Whose run it is: the number of a search, that of a turn of it, and the seed of the world.
type Key = (usize, usize, u64);

impl Rehearsals {
    /// None yet, for searches on so many threads.
    pub(crate) fn of_threads(threads: usize) -> Rehearsals {
        Rehearsals {
            kept: EACH * threads,
            recent: Mutex::default(),
        }
    }

    /// That of a search and a seed, which is made if there is none.
    pub(super) fn get(
        &self,
        key: Key,
        scenario: &Scenario,
        kinds: &Kinds,
    ) -> Result<Arc<Rehearsal>, RunError> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let made = Arc::new(Rehearsal::of(scenario, key.2, kinds)?);
        let mut recent = lock(&self.recent);
        recent.push_back((key, Arc::clone(&made)));
        if recent.len() > self.kept {
            recent.pop_front();
        }
        Ok(made)
    }

    /// How many are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.recent).len()
    }

    fn find(&self, key: Key) -> Option<Arc<Rehearsal>> {
        let mut recent = lock(&self.recent);
        let place = recent.iter().position(|(other, _)| *other == key)?;
        let found = recent.remove(place)?;
        let rehearsal = Arc::clone(&found.1);
        recent.push_back(found);
        Some(rehearsal)
    }
}
