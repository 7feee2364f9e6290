//! A SHUTDOWN that waits for replicas.

use super::persist::Saving;

/// A shutdown that waits for replicas.
pub(in crate::engine) struct PendingShutdown {
    /// The end of the wait, by the node's wall clock in milliseconds since the epoch.
    pub(in crate::engine) until_ms: i64,
    /// The time of the next check by `serverCron`, in wall-clock microseconds.
    pub(in crate::engine) look_us: u64,
    pub(in crate::engine) saving: Saving,
}
