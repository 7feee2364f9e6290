//! Hosts, clocks, network and time.

pub mod dist;
pub mod random;
