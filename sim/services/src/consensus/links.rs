//! A member's connections to the other members, with at most one pending call on each.
//!
//! A call that is not answered in time is abandoned together with its connection, since its
//! cause (usually a partition) would delay the next call too, and TCP's own timeouts are
//! minutes long.

use bytes::BytesMut;

use super::raft::Sent;

/// Identifies a connection that a member opened. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub(super) u64);

/// The state of the link to another member.
pub(super) enum Link {
    /// No connection; the next attempt is not before `retry_ns`.
    Down { retry_ns: u64 },
    /// A connection, established or being established.
    Up(Line),
}

/// A connection.
pub(super) struct Line {
    pub(super) id: LinkId,
    pub(super) inbound: BytesMut,
    /// The pending call, and when it was sent.
    pub(super) call: Option<(Sent, u64)>,
}

impl Link {
    /// Whether a call can be sent.
    pub(super) fn is_free(&self, now_ns: u64) -> bool {
        match self {
            Link::Down { retry_ns } => *retry_ns <= now_ns,
            Link::Up(line) => line.call.is_none(),
        }
    }

    /// Whether this is the connection with this identifier.
    pub(super) fn is(&self, id: LinkId) -> bool {
        matches!(self, Link::Up(line) if line.id == id)
    }

    /// When the next action is due, if the next call is due at `wanted_ns` and the timeout for
    /// an answer is `patience_ns`.
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
