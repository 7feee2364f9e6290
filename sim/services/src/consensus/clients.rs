//! A member's connections from clients and from the other members.

use bytes::BytesMut;

/// Identifies a connection that a client or another member opened. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub(super) u64);

/// A peer that connected: a client or another member. Its requests are handled one by one.
#[derive(Default)]
pub(super) struct Client {
    pub(super) inbound: BytesMut,
    /// Whether the answer to its last request is pending.
    pub(super) is_waiting: bool,
}
