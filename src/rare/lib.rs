//! How likely a rare violation is, from far fewer runs than it would take to count it.
//!
//! [`sampling`] draws faults that last longer than the scenario says, and weighs each run by how much less
//! likely it is in the scenario. It knows nothing of what happens within a run. [`splitting`] copies runs
//! that come near to a violation, and lets each copy draw anew what had not happened yet.

mod importance;
mod pilot;
mod proposal;
mod question;
pub mod sampling;
pub mod splitting;

pub use proposal::{DEFENSIVE, Proposal};
pub use question::{Question, RareError};
