//! What to say of a run that panicked.

use super::say;
use crate::runner::pool::Panicked;

/// A run that panicked: a bug in Locklab, and how to see it again.
#[derive(Debug, thiserror::Error)]
#[error("{scenario} with seed {seed} panicked: {message}\n  reproduce  {reproduce}")]
pub(super) struct Bug {
    scenario: String,
    seed: u64,
    message: String,
    reproduce: String,
}

impl Bug {
    /// The run of `scenario`, as the command line names it, with these overrides.
    pub(super) fn new(panicked: Panicked, scenario: &str, sets: &[String]) -> Self {
        Bug {
            scenario: scenario.into(),
            seed: panicked.seed,
            message: panicked.message,
            reproduce: say::run_line(scenario, sets, panicked.seed),
        }
    }
}
