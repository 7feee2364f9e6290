//! Running: one run; many runs in parallel; what came of them.

mod baselines;
pub mod batch;
pub mod judged;
mod lab;
pub mod ledger;
mod nemesis;
pub mod pool;
pub mod prediction;
pub mod recorded;
pub mod results;
mod sentinels;
pub mod simulate;
