//! Execution of runs: one run, many runs in parallel, and their results.

pub mod backend;
mod baselines;
pub mod batch;
mod error;
mod gate;
mod injector;
pub mod judged;
pub mod key_log;
mod key_watcher;
pub mod label;
pub mod nemesis;
mod observer;
pub mod pool;
pub mod prediction;
pub mod recorded;
mod recorder;
pub mod run;
mod sentinels;
pub mod simulate;
pub mod simulated_env;
pub mod steps;
pub mod workload;

pub use self::error::RunError;
pub use locklab_world::Renewal;
