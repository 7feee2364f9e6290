//! Why there is no estimate.

use locklab_runner::RunError;

/// Why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum RareError {
    /// A run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The user, or a budget of time, has stopped it.
    #[error("stopped before there was an estimate")]
    Stopped,
    /// Importance sampling has nothing to draw.
    #[error(
        "importance sampling needs a fault whose duration_ms or extra_ms is random, such as \
         {{ exponential = 100 }}; write --by splitting or --by plain"
    )]
    NothingRandom,
    /// Splitting has no target.
    #[error("splitting needs a lock with a lease; write --by plain")]
    NoLease,
}
