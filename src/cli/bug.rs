//! What to say of a run that has no result.

use anyhow::anyhow;

use crate::runner::pool::{Broken, Why};

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
    /// What to say of a run of `what`, as people call it; the line `reproduce` does it again.
    /// Only a panic is a bug.
    pub(super) fn or_usage(broken: Broken, what: &str, reproduce: String) -> anyhow::Error {
        let seed = broken.seed;
        match broken.why {
            Why::Panicked(message) => anyhow!(Bug {
                what: what.into(),
                seed,
                message,
                reproduce,
            }),
            Why::Failed(error) => {
                anyhow!("{what} with seed {seed}: {error}\n  reproduce  {reproduce}")
            }
        }
    }
}
