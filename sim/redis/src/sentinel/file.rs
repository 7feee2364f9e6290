//! The configuration file of a sentinel, which outlives its process.
//!
//! A sentinel writes the file whenever its contents have changed, and before it sends anything: a
//! vote survives the end of the process. It forgets everything that is not in the file: which
//! servers are down, a failover in progress, the candidate it voted for.

use super::address::Address;
use super::monitor::Monitor;

/// The configuration file of a sentinel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentinelFile {
    /// `sentinel myid`.
    pub run_id: String,
    /// `sentinel current-epoch`: the highest epoch that it has seen.
    pub epoch: u64,
    /// The masters, ordered by name.
    pub masters: Vec<SavedMaster>,
}

/// The part of the file about one master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedMaster {
    /// `sentinel monitor`, with the current address of the master, and its options.
    pub monitor: Monitor,
    /// `sentinel config-epoch`: the epoch of the failover that produced this configuration.
    pub config_epoch: u64,
    /// `sentinel leader-epoch`: the epoch of the last vote.
    pub vote_epoch: u64,
    /// `sentinel known-replica`.
    pub replicas: Vec<Address>,
    /// `sentinel known-sentinel`: run ids and addresses of the other sentinels.
    pub peers: Vec<(String, Address)>,
}
