//! What threatens a lock on a real machine, measured there: for how long processes stand still, how
//! clocks step, how long messages take, how far a replica is behind.
//!
//! Samples go in, and events and quantiles come out: everything but [`driver`] is plain functions over
//! data, without clocks and sockets. [`driver`] reads those of the machine. [`environment`] writes what
//! was seen as a file, and in comments what was not.

mod answers;
mod beats;
mod calendar;

pub mod driver;
pub mod environment;
mod events;

mod logs;
mod peer;
mod reading;
mod recorded;
mod replication;
mod url;
mod values;

pub use answers::Latency;
pub use beats::Pulse;
pub use events::{Events, Often};
pub use logs::{LogError, Pauses, Runtime, Unread, pauses};
pub use peer::PeerClock;
pub use recorded::{Live, Log, Recorded};
pub use replication::Lag;
pub use values::Values;
