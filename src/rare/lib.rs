//! How likely a rare violation is, from far fewer runs than it would take to count it.
//!
//! [`sampling`] draws faults that often last longer than the scenario says, and weighs each run by how much
//! likelier it is in the scenario ([`tail`]). It knows nothing of what happens within a run. [`splitting`]
//! copies runs that come near to a violation, and lets each copy draw anew what had not happened yet.

mod each;
mod error;
mod importance;
mod lengths;
mod question;
pub mod sampling;
pub mod splitting;
pub mod tail;

pub use error::RareError;
pub use lengths::Lengths;
pub use question::Question;
