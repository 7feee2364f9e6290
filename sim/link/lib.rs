//! The one model of a link, for the simulator and for the proxy of real runs: which faults apply
//! to a segment that leaves now ([`Links`]), when it arrives or is sent again, and what waits
//! behind it ([`Flow`]); and the [`EventQueue`] on which such events wait.
//!
//! It decides what happens to a segment, and does nothing itself: its two users, `locklab-world`
//! and `locklab-proxy`, own the clock, carry segments, and tell what arrived nowhere. It knows
//! neither packets nor sockets. A host is any ordered value, and a segment carries what its user
//! puts into it. Times are nanoseconds of its user's clock.

mod event_queue;
mod flow;
mod links;

pub use event_queue::EventQueue;
pub use flow::{Delivery, Flow, Kind, Transit};
pub use links::{Hop, LinkEffect, LinkRule, Links, RuleId};
