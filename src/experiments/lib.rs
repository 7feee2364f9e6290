//! The laboratory: what takes many runs, and what they come to.
//!
//! An [`Experiment`] says what is run and what the results mean. [`conduct`] makes the runs through
//! [`work`], which keeps finished parts in a [`ledger`], and publishes the [`report`] in every
//! output format (`export`).

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod again;
pub mod attack;
#[cfg(test)]
mod bench;
pub mod bug;
pub mod campaign;
pub mod check;
pub mod compare;
pub mod confirm;
pub mod cost;
pub mod data;
pub mod describe;
mod exit;
mod experiment;
mod export;
mod format;
pub mod layout;
pub mod ledger;
mod made_by;
pub mod matrix;
pub mod museum;
pub mod mutants;
pub mod output;
pub mod parts;
pub mod pictures;
pub mod place;
mod program;
pub mod progress;
pub mod rare;
pub mod report;
pub mod reproduce;
pub mod risk;
pub mod run;
pub mod scenarios;
pub mod section;
mod session;
mod shard;
pub mod shard_status;
pub mod shrink;
mod store;
pub mod strategy;
pub mod sweep;
pub mod twice;
mod unshown;
pub mod work;

pub use self::exit::Exit;
pub use self::experiment::{Experiment, Reports, conduct, execute};
pub use self::format::Format;
pub use self::program::Program;
pub use self::session::{Session, Stop};
pub use self::shard::Shard;
pub use self::store::Store;
