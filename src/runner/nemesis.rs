//! The execution of a fault schedule, for the simulator and for real processes alike: which fault
//! strikes when, and what triggers it.

pub mod executor;
pub mod failover;
mod links;
pub mod rates;
pub mod trigger;

pub use links::link_rule;
