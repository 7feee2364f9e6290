//! Locklab: a laboratory for distributed locks on Redis.
//!
//! A run goes one way through the house:
//!
//! ```text
//! scenario ─► runner ─► world or real Redis ─► history ─► checks ─► results ─► report
//! ```
//!
//! A history is the only thing a check may read, and recorded results are the only
//! thing a report may read; so a history taken from real Redis is judged by exactly
//! the code that judges a simulated one.

pub use locklab_check as check;
pub use locklab_env as env;
pub use locklab_env::{observe, redis};
pub use locklab_evidence as evidence;
pub use locklab_history as history;
pub use locklab_locks as locks;

pub mod backend;
pub mod cli;
pub mod confirm;
pub mod fault;
pub mod matrix;
pub mod recording;
pub mod report;
pub mod results;
pub mod runner;
pub mod scenario;
pub mod serve;
pub mod workload;

pub(crate) use locklab_plant::plant;
