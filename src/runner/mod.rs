//! Execution of runs: one run, many runs in parallel, and their results.

pub mod backend;
mod baselines;
pub mod batch;
mod error;
mod injector;
pub mod judged;
mod lab;
pub mod label;
pub mod ledger;
pub mod pool;
pub mod prediction;
pub mod recorded;
mod sentinels;
pub mod simulate;
mod witness;

pub use self::error::RunError;
