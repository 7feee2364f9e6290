//! Locklab: a laboratory for distributed locks on Redis.
//!
//! Data flows in one direction:
//!
//! ```text
//! scenario ─► runner ─► world or real Redis ─► history ─► checks ─► results ─► report
//! ```
//!
//! A check reads a history and nothing else. A report reads what was recorded (histories,
//! verdicts, counts) and starts no run. A history from real Redis is therefore judged by exactly
//! the code that judges a simulated one.

pub use locklab_check as check;
pub use locklab_env as env;
pub use locklab_env::{observe, redis};
pub use locklab_evidence as evidence;
pub use locklab_history as history;
pub use locklab_locks as locks;

pub mod cli;
pub mod confirm;
pub mod critique;
pub mod fault;
mod lab;
pub mod matrix;
pub mod platform;
pub mod recording;
pub mod report;
pub mod results;
pub mod runner;
pub mod scenario;
pub mod serve;
pub mod suite;
pub mod view;
pub mod workload;

pub use lab::{Lab, main};

pub(crate) use locklab_plant::plant;
