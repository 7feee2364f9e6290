//! Linearizable reads without an entry in the log (§8, and the read index of Ongaro's
//! dissertation, §6.4).
//!
//! A leader may have been deposed without knowing it. So a read waits for a *round of
//! confirmation*: calls that were sent after the read came in and that a majority
//! answered in the leader's own term. At some moment in between this member was the
//! leader for a majority, so no other had committed anything by then.
//!
//! The read then waits until everything is applied that was in the log when it came in,
//! committed or not. The dissertation asks for what was committed, and for the new
//! leader's first entry to be among it; what is asked here includes that, and makes an
//! answer about a session take account of its end that is already proposed.

use super::{Raft, Role};

/// What a read has to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadPoint {
    round: u64,
    /// Up to here the log must be applied.
    pub(crate) index: u64,
}

impl Raft {
    /// A read comes in, if this member leads.
    pub(crate) fn begin_read(&mut self) -> Option<ReadPoint> {
        let index = self.durable.log().last_index();
        let Role::Leader(leading) = &mut self.role else {
            return None;
        };
        leading.round += 1;
        let round = leading.round;
        Some(ReadPoint { round, index })
    }

    /// Whether this member, which leads, led when that read had come in.
    pub(crate) fn is_confirmed(&self, read: ReadPoint) -> bool {
        match &self.role {
            Role::Leader(leading) => {
                let round = leading.by_majority(leading.round, |other| other.answered_round);
                round >= read.round
            }
            _ => false,
        }
    }
}
