//! `redlock`: a majority of N independent nodes.

use serde::{Deserialize, Serialize};

use crate::history::ClockKind;

/// The parameters of `redlock`, each of them somebody's claim in the debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How many nodes must grant; absent: N/2 + 1.
    #[serde(default)]
    pub quorum: Option<u32>,
    /// How long to wait for one node, connection included, in milliseconds. The
    /// specification: small against the TTL, 5 to 50 ms for a TTL of 10 s.
    #[serde(default = "default_node_timeout_ms")]
    pub node_timeout_ms: u64,
    /// Which clock measures the time that acquiring took.
    #[serde(default = "default_clock")]
    pub clock: ClockKind,
    /// Whether a grant needs elapsed time below the TTL (step 3).
    #[serde(default = "default_true")]
    pub elapsed_check: bool,
    /// Share of the TTL allowed for clock drift.
    #[serde(default = "default_drift_factor")]
    pub drift_factor: f64,
    /// Added to the drift allowance, in milliseconds: Redis's expiry is that precise.
    #[serde(default = "default_drift_extra_ms")]
    pub drift_extra_ms: u64,
    /// Ask the nodes in turn, or all at once.
    #[serde(default)]
    pub order: Order,
    /// What to release after an attempt that failed (step 5).
    #[serde(default)]
    pub release_on_failure: ReleaseOnFailure,
    /// Wait before the next attempt, in milliseconds.
    #[serde(default = "super::default_retry_delay_ms")]
    pub retry_delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    #[serde(default = "super::default_retry_jitter_ms")]
    pub retry_jitter_ms: u64,
}

/// In which order the nodes are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, as the specification says.
    #[default]
    Sequential,
    /// All at once, as it recommends ("multiplexing").
    Parallel,
}

/// What a failed attempt gives back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseOnFailure {
    /// Every node, also one that seemed not to grant.
    #[default]
    All,
    /// The nodes that granted.
    Acquired,
    /// Nothing.
    None,
}

fn default_node_timeout_ms() -> u64 {
    50
}

fn default_clock() -> ClockKind {
    ClockKind::Wall
}

fn default_true() -> bool {
    true
}

fn default_drift_factor() -> f64 {
    0.01
}

fn default_drift_extra_ms() -> u64 {
    2
}
