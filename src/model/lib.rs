//! The description of a run, as data: a scenario with its faults and its workload, read from TOML,
//! validated, and drawn from a seed. This crate runs nothing.

pub mod fault;
pub mod scenario;
pub mod workload;
