//! Why there is no answer.

use locklab_runner::pool::Broken;

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
