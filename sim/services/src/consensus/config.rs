//! What a member is told when it starts.

const MS: u64 = 1_000_000;

/// How long a member waits for what, by its own monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// A leader that has nothing to say is heard of this often, in milliseconds.
    pub heartbeat_ms: u64,
    /// A follower that hears of no leader stands for election after a time between this
    /// one, in milliseconds,
    pub election_min_ms: u64,
    /// and this. A leader that a majority has not answered for so long steps down.
    pub election_max_ms: u64,
}

impl Default for Timing {
    /// A heartbeat of 100 ms and elections after 300 to 600 ms: as the paper on Raft
    /// advises (§9.3), far above what a message takes, far below what an outage may.
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

    /// Never less than the shortest.
    pub(crate) fn longest_ns(&self) -> u64 {
        let longest_ms = self.election_max_ms.max(self.election_min_ms);
        longest_ms.max(1).saturating_mul(MS)
    }
}

/// One member.
pub struct MemberConfig {
    /// Its name.
    pub name: String,
    /// The names of all members, itself among them, in the order that all of them are
    /// told. Three or five, as a rule: of `n` a minority, `(n - 1) / 2`, may fail.
    pub members: Vec<String>,
    /// How long it waits for what.
    pub timing: Timing,
    /// Draws a number in 0..n: its election timeouts.
    pub random: Box<dyn FnMut(u64) -> u64>,
}
