//! The configuration of a sentinel at its start.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use super::file::SentinelFile;

/// The address of a server. A sentinel compares hosts as texts, as Redis does with
/// `resolve-hostnames` and `announce-hostnames` on.
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
    /// The address announced to the others (`announce-ip`, `announce-port`).
    pub announce: Address,
    /// The masters to monitor at first.
    pub monitor: Vec<Monitor>,
    /// The configuration file it has written before; if present, `monitor` is ignored.
    pub file: Option<SentinelFile>,
    /// How long it has been running.
    pub uptime: Uptime,
    /// Draws a number in 0..n, for the sentinel's run id, the delay before an election of its
    /// own, and the jitter of its timer.
    pub random: Box<dyn FnMut(u64) -> u64>,
}

/// The time for which a sentinel has been running when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uptime {
    /// Its process starts now.
    Zero,
    /// A long time, so that its periodic actions may be due at any point of their periods. They
    /// are done once at the start, as after its links were opened anew.
    Long,
}

/// A monitored master: `sentinel monitor` and the options that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// The name that clients ask for.
    pub name: String,
    /// The initial address of the master.
    pub address: Address,
    /// How many sentinels must agree that it is down.
    pub quorum: usize,
    /// `down-after-milliseconds`: the master is down after this long without a valid reply.
    pub down_after: Duration,
    /// The timeout of each step of a failover; two attempts are twice this apart.
    pub failover_timeout: Duration,
    /// How many replicas are reconfigured to the new master at the same time.
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

    /// [`Monitor::down_after`] in milliseconds.
    pub(super) fn down_after_ms(&self) -> i64 {
        as_ms(self.down_after)
    }

    /// [`Monitor::failover_timeout`] in milliseconds.
    pub(super) fn failover_timeout_ms(&self) -> i64 {
        as_ms(self.failover_timeout)
    }
}

fn as_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
