//! Running: one run; many runs in parallel; what came of them.

pub mod batch;
pub mod judged;
mod lab;
mod nemesis;
pub mod results;
pub mod simulate;
