//! How likely a rare violation is, from far fewer runs than it would take to count it.
//!
//! [`Sampling`] draws faults that often last longer than the scenario says, and weighs each run by how much
//! likelier it is in the scenario ([`tail`]). It knows nothing of what happens within a run. [`Splitting`]
//! copies runs that come near to a violation, and lets each copy draw anew what had not happened yet.
//!
//! Each makes one run, or one estimate, by its number, and adds it to the others; none knows how many there are,
//! who makes them, or in which order.

mod error;
mod lengths;
mod method;
mod nearness;
mod question;
mod sampling;
mod splitting;
pub mod tail;

pub use error::RareError;
pub use lengths::Lengths;
pub use method::Method;
pub use question::Question;
pub use sampling::{Sampling, count};
pub use splitting::{Split, Splitting};
