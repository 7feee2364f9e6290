//! A member's connections to the others, with at most one call under way on each.
//!
//! A call that is not answered in time is given up together with its connection, since
//! whatever holds it up (a partition, above all) would hold up the next call too, and
//! TCP's own patience is measured in minutes.

use bytes::BytesMut;

use super::raft::Sent;

/// A connection that a member opened. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub(super) u64);

/// The way to another member.
pub(super) enum Link {
    /// No connection; no attempt at one before that time.
    Down { retry_ns: u64 },
    /// A connection, or the attempt at one.
    Up(Line),
}

/// A connection.
pub(super) struct Line {
    pub(super) id: LinkId,
    pub(super) inbound: BytesMut,
    /// The call under way, and when it was sent.
    pub(super) call: Option<(Sent, u64)>,
}

impl Link {
    /// Whether a call could be sent.
    pub(super) fn is_free(&self, now_ns: u64) -> bool {
        match self {
            Link::Down { retry_ns } => *retry_ns <= now_ns,
            Link::Up(line) => line.call.is_none(),
        }
    }

    /// Whether this is the connection of that number.
    pub(super) fn is(&self, id: LinkId) -> bool {
        matches!(self, Link::Up(line) if line.id == id)
    }

    /// When something is to be done, if a call is wanted at `wanted_ns` and an answer is
    /// waited for so long.
    pub(super) fn next_ns(&self, wanted_ns: Option<u64>, patience_ns: u64) -> Option<u64> {
        match self {
            Link::Down { retry_ns } => wanted_ns.map(|wanted_ns| wanted_ns.max(*retry_ns)),
            Link::Up(line) => match line.call {
                Some((_, sent_ns)) => Some(sent_ns.saturating_add(patience_ns)),
                None => wanted_ns,
            },
        }
    }
}
