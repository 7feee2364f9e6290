//! Values that the simulator and real runs share: units of time, distributions of durations,
//! random streams, and TCP's timeouts.
//!
//! Plain values and functions: nothing here knows a clock, a host or a connection.

pub mod count;
pub mod dist;
pub mod durations;
pub mod normal;
pub mod random;
pub mod shell;
pub mod tcp;
pub mod units;
pub mod untrusted;
