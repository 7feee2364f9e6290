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

pub mod check;
pub mod cli;
pub mod confirm;
pub mod env;
pub mod evidence;
pub mod fault;
pub mod history;
pub mod locks;
pub mod matrix;
pub mod observe;
pub mod redis;
pub mod report;
pub mod runner;
pub mod scenario;
pub mod serve;
pub mod workload;

pub(crate) use locklab_sim::plant;
