//! The network without sockets: what happens to data between two hosts, driven by times.
//!
//! What a link does to a segment is decided in `locklab_link`, as it is for the simulator. The two
//! differ in what surrounds the links:
//!
//! - It knows connections, since it has no kernels that do. A connection has two ends, each of
//!   which sends one flow of segments.
//! - A reset that answers a segment and does not get through leaves that segment
//!   unacknowledged: its sender sends it again. In the world that sender waits for ever,
//!   which is wrong; correcting it changes what seeds of `kleppmann/k16` and `k19` mean.
//! - A server's reset before its SYN-ACK got through makes the connector send its SYN again.

mod connection;
mod flow;
mod lifecycle;
mod log;
mod network;
mod payload;
mod power;

#[cfg(test)]
mod tests;

pub(crate) use connection::{ConnectionId, End};
pub use log::{MAX_MESSAGE_BYTES, MAX_MESSAGES, Segment};
pub(crate) use network::{Effect, Network};
pub(crate) use payload::{Meter, Payload};
