//! What a run is asked to be, as data: a scenario with its faults and its workload, read from TOML,
//! validated, and drawn from a seed. It runs nothing.

pub mod fault;
pub mod scenario;
pub mod workload;
