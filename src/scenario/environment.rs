//! What surrounds the clients: the resource, the network, the clocks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Dist;

/// The thing that the lock protects: a register on a host of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resource {
    /// Which accesses it refuses for their fencing token.
    pub fencing: Fencing,
}

/// Which accesses a resource refuses when it has seen a higher fencing token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// None: it does not look at tokens.
    #[default]
    None,
    /// Writes.
    Writes,
    /// Reads and writes.
    ReadsAndWrites,
}

/// The network between any two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// The way of a packet from one host to another, in milliseconds.
    pub latency_ms: Dist,
    /// The share of transmissions that are lost, 0 to 1; a lost one is repeated after
    /// the retransmission timeout.
    pub loss: f64,
}

impl Default for Network {
    /// A quiet network within one region: 1 to 5 ms one way, nothing lost.
    fn default() -> Self {
        Network {
            latency_ms: Dist::Uniform(1.0, 5.0),
            loss: 0.0,
        }
    }
}

/// How far the hosts' clocks are off when the run begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clocks {
    /// Per host, `[clocks.host.n3]`; the clocks of every other host are right.
    pub host: BTreeMap<String, HostClock>,
}

/// The error of one host's clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostClock {
    /// How far the wall clock is ahead of true time, in milliseconds; negative: behind.
    pub offset_ms: f64,
    /// How much too fast both clocks run, in parts per million; 100 000 is 10 % fast.
    pub drift_ppm: i64,
}
