//! What a sentinel is told when it starts.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use super::file::SentinelFile;

/// Where a server can be reached. A sentinel compares hosts as texts, as Redis does
/// with `resolve-hostnames` and `announce-hostnames` on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// A name or an IP address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Address {
    /// `host port`, as events spell it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.host, self.port)
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Address {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

/// One sentinel.
pub struct SentinelConfig {
    /// Where the others reach it (`announce-ip`, `announce-port`).
    pub announce: Address,
    /// What it monitors at first.
    pub monitor: Vec<Monitor>,
    /// What it has written to its configuration file before; then `monitor` is history.
    pub file: Option<SentinelFile>,
    /// For how long it has run.
    pub past: Past,
    /// Draws a number in 0..n: the sentinel's run id, the delay before an election of
    /// its own, the jitter of its timer.
    pub random: Box<dyn FnMut(u64) -> u64>,
}

/// For how long a sentinel has run when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// Its process starts.
    None,
    /// For long, so that what it does regularly may be due at any time of its period. It says
    /// hello at once: those that it would know it has to find first.
    Long,
}

/// A monitored master: `sentinel monitor` and the options that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// The name that clients ask for.
    pub name: String,
    /// The master at first.
    pub address: Address,
    /// How many sentinels must agree that it is down.
    pub quorum: usize,
    /// Without a valid reply for this long it is down: `down-after-milliseconds`.
    pub down_after: Duration,
    /// The patience with each step of a failover; twice this passes between two attempts.
    pub failover_timeout: Duration,
    /// How many replicas are turned to the new master at the same time.
    pub parallel_syncs: usize,
}

impl Monitor {
    /// With Redis's defaults: down after 30 s, 180 s for a step, one replica at a time.
    pub fn new(name: &str, address: Address, quorum: usize) -> Self {
        Monitor {
            name: name.to_owned(),
            address,
            quorum,
            down_after: Duration::from_secs(30),
            failover_timeout: Duration::from_secs(180),
            parallel_syncs: 1,
        }
    }

    /// [`Monitor::down_after`] as a sentinel reckons.
    pub(super) fn down_after_ms(&self) -> i64 {
        as_ms(self.down_after)
    }

    /// [`Monitor::failover_timeout`] as a sentinel reckons.
    pub(super) fn failover_timeout_ms(&self) -> i64 {
        as_ms(self.failover_timeout)
    }
}

fn as_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
