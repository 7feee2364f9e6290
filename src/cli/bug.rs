//! What to say of a run that panicked.

use crate::runner::pool::Panicked;

/// A run that panicked: a bug in Locklab, and how to see it again.
#[derive(Debug, thiserror::Error)]
#[error("{what} with seed {seed} panicked: {message}\n  reproduce  {reproduce}")]
pub(super) struct Bug {
    what: String,
    seed: u64,
    message: String,
    reproduce: String,
}

impl Bug {
    /// A run of `what`, as people call it; the line `reproduce` does it again.
    pub(super) fn new(panicked: Panicked, what: &str, reproduce: String) -> Self {
        Bug {
            what: what.into(),
            seed: panicked.seed,
            message: panicked.message,
            reproduce,
        }
    }
}
