//! The clocks of a node's machine.

use std::time::Duration;

/// The time on both clocks of the node's machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// The wall clock, in microseconds since the Unix epoch.
    pub wall_us: u64,
    /// The monotonic clock, from an arbitrary origin.
    pub monotonic: Duration,
}

impl Now {
    /// The monotonic clock, in microseconds.
    pub(in crate::engine) fn monotonic_us(&self) -> u64 {
        self.monotonic.as_micros() as u64
    }
}
