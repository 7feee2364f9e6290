//! The settings of a monitored master.

use std::time::Duration;

use super::address::Address;

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
