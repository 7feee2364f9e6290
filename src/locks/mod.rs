//! The locks: one file per algorithm, nothing else.

use serde::{Deserialize, Serialize};

pub mod redlock;
pub mod set_nx_px;

/// Which lock a scenario uses, with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum LockSpec {
    /// One node, `SET key token NX PX ttl`.
    SetNxPx(set_nx_px::Params),
    /// N independent nodes, a majority of them, and a validity time.
    Redlock(redlock::Params),
}

/// 200 ms: what the Redlock clients for Ruby and Python wait between attempts.
fn default_retry_delay_ms() -> u64 {
    200
}

/// 50 ms: the jitter of redlock-rb.
fn default_retry_jitter_ms() -> u64 {
    50
}
