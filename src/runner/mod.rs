//! Execution of runs: one run, many runs in parallel, and their results.

pub mod backend;
mod baselines;
pub mod batch;
mod error;
mod injector;
pub mod judged;
mod lab;
pub mod ledger;
mod operator;
mod other_writes;
pub mod pool;
pub mod prediction;
pub mod recorded;
mod sentinels;
pub mod simulate;

pub use self::error::RunError;
