//! The configuration of a sentinel at its start.

use super::address::Address;
use super::file::SentinelFile;
use super::monitor::Monitor;

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
