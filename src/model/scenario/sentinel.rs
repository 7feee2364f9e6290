//! The configuration of a scenario's sentinels.

use serde::{Deserialize, Serialize};

/// The options of `sentinel.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SentinelOptions {
    /// How many sentinels must agree that the master is down; absent: more than half of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// A server without a valid reply for this long counts as down, in milliseconds.
    pub down_after_ms: u64,
    /// The timeout of each step of a failover, in milliseconds; twice this time passes between
    /// two attempts.
    pub failover_timeout_ms: u64,
    /// How many replicas are reconfigured for the new master at the same time.
    pub parallel_syncs: u32,
}

impl Default for SentinelOptions {
    /// The example in Redis's documentation, "A quick tutorial": down after 5 s, 60 s for a
    /// step, one replica at a time. (Without a configuration it would be 30 s and 180 s.)
    fn default() -> Self {
        SentinelOptions {
            quorum: None,
            down_after_ms: 5_000,
            failover_timeout_ms: 60_000,
            parallel_syncs: 1,
        }
    }
}
