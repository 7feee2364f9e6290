//! Linearizable reads without an entry in the log (§8, and the read index of Ongaro's
//! dissertation, §6.4).
//!
//! A leader may have been deposed without knowing it. So a read waits for a *round of
//! confirmation*: calls that were sent after the read arrived and that a majority answered in
//! the leader's own term. At some moment in between a majority accepted this member as leader,
//! so no other leader had committed anything by then.
//!
//! The read then waits until all entries are applied that were in the log when it arrived,
//! committed or not. The dissertation requires only the committed ones, and that the new
//! leader's first entry is among them. The rule here implies that, and makes an answer about a
//! session take its proposed end into account.

use super::{Raft, Role};

/// The conditions that a read must wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadPoint {
    round: u64,
    /// The index up to which the log must be applied.
    pub(crate) index: u64,
}

impl Raft {
    /// The read point of a read that arrives now; `None` if this member does not lead.
    pub(crate) fn begin_read(&mut self) -> Option<ReadPoint> {
        let index = self.durable.log().last_index();
        let Role::Leader(leading) = &mut self.role else {
            return None;
        };
        leading.round += 1;
        let round = leading.round;
        Some(ReadPoint { round, index })
    }

    /// Whether this leader was still the leader after that read arrived.
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
