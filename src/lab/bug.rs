//! Error messages for a run without a result.

use anyhow::anyhow;

use locklab_runner::pool::{Broken, Why};

/// A run that panicked: a bug in Locklab, with a command to reproduce it.
#[derive(Debug, thiserror::Error)]
#[error("{what} with seed {seed} panicked: {message}\n  reproduce  {reproduce}")]
pub struct Bug {
    what: String,
    seed: u64,
    message: String,
    reproduce: String,
}

impl Bug {
    /// The error for a run of `what`, a readable name; the command line `reproduce` repeats the
    /// run. Only a panic is a bug.
    pub fn or_usage(broken: Broken, what: &str, reproduce: String) -> anyhow::Error {
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
