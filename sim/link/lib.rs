//! The model of a link, used by the simulator and by the proxy of real runs: which faults apply to
//! a segment that leaves now ([`Links`]), when it arrives or is retransmitted, and which segments
//! wait behind it ([`Flow`]); and an [`EventQueue`] for such events.
//!
//! It decides what happens to a segment, and has no side effects: its two users, `locklab-world`
//! and `locklab-proxy`, own the clock, carry segments, and report those that were not received. It
//! knows neither packets nor sockets. A host is any ordered value, and a segment carries any data
//! of its user. Times are nanoseconds of its user's clock.

mod event_queue;
mod flow;
mod links;

pub use event_queue::EventQueue;
pub use flow::{Delivery, Flow, Kind, Transit};
pub use links::{Hop, LinkEffect, LinkRule, Links, RuleId};
