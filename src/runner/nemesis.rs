//! Executes a fault schedule, in the simulator and on real processes: when each fault begins and
//! ends, and what triggers it.

pub mod executor;
pub mod failover;
mod links;
pub mod rates;
pub mod trigger;

pub use links::link_rule;
