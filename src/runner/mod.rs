//! Running: one run; many runs in parallel; what came of them.

mod lab;
mod nemesis;
pub mod results;
pub mod simulate;
