//! `set-nx-px`: the lock on one node that redis.io recommends.

use serde::{Deserialize, Serialize};

/// The parameters of `set-nx-px`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How the lock is given back.
    #[serde(default)]
    pub release: Release,
    /// Whether a grant carries a fencing token: `INCR` of a counter beside the lock,
    /// in the script that takes the lock.
    #[serde(default)]
    pub fencing_token: bool,
    /// Wait before the next attempt, in milliseconds.
    #[serde(default = "super::default_retry_delay_ms")]
    pub retry_delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    #[serde(default = "super::default_retry_jitter_ms")]
    pub retry_jitter_ms: u64,
    /// How long the client waits for a connection or a reply, in milliseconds;
    /// absent: for ever.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// The four ways to release in circulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// `DEL`, whoever's lock it is by now.
    Del,
    /// `GET`, compare, `DEL`: two commands.
    GetDel,
    /// Compare and delete in one script.
    #[default]
    CompareDel,
    /// `WATCH`, `GET`, `MULTI`, `DEL`, `EXEC`.
    WatchDel,
}
