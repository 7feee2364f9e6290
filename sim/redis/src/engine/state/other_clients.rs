//! The other clients of a node while a script runs on it.

use bytes::Bytes;

use super::State;
use super::input::ConnId;
use super::session::Addresses;

/// The connections of a node, as long as a script keeps the node from returning to its driver:
/// what `processEventsWhileBlocked` is in Redis. See [`Node::attend`](crate::Node::attend).
pub trait OtherClients {
    /// Whether the driver ends the process: then the script ends, too, whatever it has done.
    fn is_process_ended(&self) -> bool {
        false
    }

    /// The next thing that has happened on the connections, without waiting for it. Only from
    /// those may bytes arrive of which `listens` says so: what others send stays with the driver
    /// until the script is over.
    fn poll(&mut self, listens: &dyn Fn(ConnId) -> bool) -> Option<Arrival>;

    /// The client of the last [`Arrival::Connected`] has this connection; or none, if there are
    /// too many clients.
    fn accepted(&mut self, conn: Option<ConnId>);

    /// Sends output as far as that is possible without waiting, and returns the rest. After a
    /// rest, nothing more may arrive on this connection while the script runs.
    fn send(&mut self, conn: ConnId, bytes: Bytes) -> Bytes;
}

/// What has happened on the connections.
#[derive(Debug)]
pub enum Arrival {
    /// A client has connected.
    Connected(Addresses),
    /// A client has left. The driver reports it again when the script is over
    /// ([`Node::closed`](crate::Node::closed)).
    Left(ConnId),
    /// Bytes have arrived.
    Received {
        /// The connection.
        conn: ConnId,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// The other clients of a node.
pub(in crate::engine) struct Attention {
    pub(in crate::engine) other_clients: Box<dyn OtherClients>,
    /// Handles what they have sent, at this wall-clock time in microseconds.
    pub(in crate::engine) attend: fn(&mut State, &mut Self, u64),
}
