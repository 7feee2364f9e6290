//! Locklab: a laboratory for distributed locks on Redis.
//!
//! Most people need the program alone; `docs/` is its book. This library is for locks of other
//! crates, and for programs that read what Locklab writes.
//!
//! # The map
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
//!
//! | for | see |
//! |---|---|
//! | a lock of your own | [`locks::Lock`], [`locks::Algorithm`], [`locks::Registration`], [`env::Env`], [`redis::Client`] |
//! | your lock as a program, and in tests | [`main`], [`Lab`] |
//! | what came of a suite | [`suite::Results`] |
//! | scenarios, as files and as data | [`scenario::Scenario`] |
//! | a run, its history and its verdicts | [`runner::judged`], [`history::History`], [`mod@check`] |
//! | rates, intervals and predictions | [`evidence`] |
//! | files that runs leave | [`recording`], [`results`] |
//!
//! These items follow [semver](https://semver.org). Every other public item serves the program, and
//! may change in any version.
//!
//! # A lock of your own
//!
//! This is a whole library with a lock, `src/lib.rs` of the crate in `docs/own-lock`. Its `main` is
//! one line, `locklab::main(own_lock::LOCKS)`, which has every command of Locklab; and so is its
//! test, `locklab::Lab::new(own_lock::LOCKS).assert(&["scenarios"])`.
//!
//! ```ignore
#![doc = include_str!("../docs/own-lock/src/lib.rs")]
//! ```

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
