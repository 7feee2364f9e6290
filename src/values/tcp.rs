//! When a TCP sender sends again what did not get through: Linux's timers, as constants.
//!
//! `locklab measure constants` measures them on the machine's own kernel. They are those of a connection
//! with a round trip of some milliseconds and one segment on its way, which is what a request and
//! its reply are. With several on their way Linux probes sooner, and a receiver's acknowledgements
//! of later segments bring a lost one back within a round trip; neither is modelled.

use super::units::{NS_PER_MS, NS_PER_S};

/// The first timeout of an established connection: Linux's minimum (`TCP_RTO_MIN`).
const RETRANSMISSION_NS: u64 = 200 * NS_PER_MS;

/// The first timeout of a connection without a measured round trip (RFC 6298, 2.1).
const OPENING_NS: u64 = NS_PER_S;

/// How many times in a row a connector waits for the first timeout before it doubles it: once, and
/// `tcp_syn_linear_timeouts` (4) more since Linux 6.5.
const EQUAL_OPENINGS: u32 = 5;

/// Linux's longest timeout (`TCP_RTO_MAX`).
const MAX_NS: u64 = 120 * NS_PER_S;

/// The phase of a connection that a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// For the connection to open.
    Opening,
    /// For data to be acknowledged.
    Established,
}

impl Phase {
    /// How long a sender waits before the next retransmission after this many unacknowledged
    /// transmissions (at least one), in nanoseconds.
    pub fn wait_ns(self, transmissions: u32) -> u64 {
        let (first_ns, doublings) = match self {
            Phase::Opening => (OPENING_NS, transmissions.saturating_sub(EQUAL_OPENINGS)),
            // The first is a tail loss probe (RFC 8985, 7.2), which doubles nothing. Linux delays
            // the probe of a single segment by its minimum timeout.
            Phase::Established => (RETRANSMISSION_NS, transmissions.saturating_sub(2)),
        };
        first_ns.saturating_mul(1 << doublings.min(30)).min(MAX_NS)
    }

    /// How long after its first transmission a sender gives up and resets the connection, in
    /// nanoseconds.
    pub fn patience_ns(self) -> u64 {
        match self {
            // `tcp_syn_retries` = 6: six doublings after the equal timeouts.
            Phase::Opening => 131 * NS_PER_S,
            // `tcp_retries2` = 15: what 15 doublings of the minimum come to.
            Phase::Established => 924_600 * NS_PER_MS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmissions_ms(phase: Phase, number: u32) -> Vec<u64> {
        let waits = (1..=number).scan(0, |at_ns, transmissions| {
            *at_ns += phase.wait_ns(transmissions);
            Some(*at_ns / NS_PER_MS)
        });
        waits.collect()
    }

    /// The times of Linux 6.18, within a twentieth, on a connection whose receiver drops every
    /// segment.
    #[test]
    fn data_retransmission_matches_linux() {
        assert_eq!(
            transmissions_ms(Phase::Established, 6),
            [200, 400, 800, 1600, 3200, 6400]
        );
        assert_eq!(Phase::Established.wait_ns(40), MAX_NS);
    }

    /// The times of Linux 6.18, which match its documentation: the last retransmission at 67 s, the
    /// timeout at 131 s.
    #[test]
    fn connection_retransmission_matches_linux() {
        let at_ms = [1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131].map(|s| s * 1000);
        assert_eq!(transmissions_ms(Phase::Opening, 11), at_ms);
        assert_eq!(Phase::Opening.patience_ns() / NS_PER_MS, at_ms[10]);
    }
}
