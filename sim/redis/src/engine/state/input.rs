//! The input of a connection that is not handled yet.

use bytes::BytesMut;

use crate::wire::request::Parser;

/// A client's connection to one node. Also the client id that `CLIENT ID` returns. Never reused
/// within a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(pub(in crate::engine) u64);

/// The input state of a connection.
#[derive(Default)]
pub(in crate::engine) struct Input {
    pub(in crate::engine) parser: Parser,
    /// The query buffer: bytes received but not yet handled.
    pub(in crate::engine) pending: BytesMut,
}
