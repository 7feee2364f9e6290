//! The configuration of a member.

use locklab_values::units::NS_PER_MS as MS;

/// The timeouts of a member, by its own monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The interval between the heartbeats of an idle leader, in milliseconds.
    pub heartbeat_ms: u64,
    /// A follower that receives nothing from a leader stands for election after a timeout
    /// between this one, in milliseconds,
    pub election_min_ms: u64,
    /// and this one. A leader without answers from a majority for this long steps down.
    pub election_max_ms: u64,
}

impl Default for Timing {
    /// A heartbeat of 100 ms and elections after 300 to 600 ms: as the paper on Raft advises
    /// (§9.3), far more than a message takes, far less than an outage may last.
    fn default() -> Self {
        Timing {
            heartbeat_ms: 100,
            election_min_ms: 300,
            election_max_ms: 600,
        }
    }
}

impl Timing {
    pub(crate) fn heartbeat_ns(&self) -> u64 {
        self.heartbeat_ms.max(1).saturating_mul(MS)
    }

    pub(crate) fn shortest_ns(&self) -> u64 {
        self.election_min_ms.max(1).saturating_mul(MS)
    }

    /// At least the shortest timeout.
    pub(crate) fn longest_ns(&self) -> u64 {
        let longest_ms = self.election_max_ms.max(self.election_min_ms);
        longest_ms.max(1).saturating_mul(MS)
    }
}

/// The configuration of one member.
pub struct MemberConfig {
    /// Its name.
    pub name: String,
    /// The names of all members, including itself, in the same order on all members. Usually
    /// three or five: of `n` members a minority, `(n - 1) / 2`, may fail.
    pub members: Vec<String>,
    /// Its timeouts.
    pub timing: Timing,
    /// Draws a number in 0..n, for its election timeouts.
    pub random: Box<dyn FnMut(u64) -> u64>,
}
