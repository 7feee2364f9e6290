//! The network without sockets: the transmission of data between two hosts. Its caller passes the
//! times.
//!
//! `locklab_link` decides what a link does to a segment, as for the simulator. This model differs
//! from the simulator around the links:
//!
//! - It models connections, since it has no kernels. A connection has two ends, and each end sends
//!   one flow of segments.
//! - A reset that answers a segment and does not get through leaves that segment unacknowledged:
//!   its sender retransmits it. In the simulator that sender waits without end, which is wrong;
//!   correcting it would change the runs of `kleppmann/k16` and `k19` for their seeds.
//! - A server's reset before its SYN-ACK got through makes the connector send its SYN again.

mod connection;
mod end;
mod flow;
mod lifecycle;
mod log;
mod network;
mod payload;
mod power;
mod suspension;

#[cfg(test)]
mod tests;

pub(crate) use end::{ConnectionId, End};
pub use log::{Dropped, MAX_MESSAGE_BYTES, MAX_MESSAGES, Segment};
pub(crate) use network::{Effect, Network};
pub(crate) use payload::{Meter, Payload};
