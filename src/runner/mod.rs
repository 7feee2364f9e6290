//! Running: one run; many runs in parallel; what came of them.

pub mod results;
