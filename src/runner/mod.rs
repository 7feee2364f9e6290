//! Running: one run; many runs in parallel; what came of them.

mod baselines;
pub mod batch;
mod error;
pub mod judged;
mod lab;
pub mod ledger;
pub mod loss;
mod nemesis;
mod operator;
mod other_writes;
pub mod pool;
pub mod prediction;
pub mod recorded;
pub mod results;
mod sentinels;
pub mod simulate;

pub use self::error::RunError;
