//! Many runs, and what they come to. It knows no question: those are the rooms of `src/ask`.
//!
//! An [`Experiment`] says what is run and what the results mean. [`conduct`] makes the runs through
//! [`work`], which keeps finished parts in a [`ledger`], and publishes the [`report`] in every
//! output format (`export`).
//!
//! ```text
//! jobs ─► parts ─► ledger ─► results of each job ─► report ─► exporters
//! ```
//!
//! - A *job* is a scenario with some seeds. `parts.rs` cuts jobs into parts, `work.rs` makes the runs of
//!   those that are not done yet, and `ledger.rs` keeps each finished part in a file of checksummed
//!   lines. Resuming, Ctrl-C, progress, budgets, shards and merging exist there and nowhere else.
//! - Finished parts of a job are joined as they come, in memory and in the ledger (`Kept` in
//!   `work/items.rs`, `Ledger::compact`). So both are bounded by the number of jobs, not of runs, and so
//!   is a merge, which reads one line at a time.
//! - Joining the results of parts is associative and commutative (`Part` in `src/runner/batch.rs`). So
//!   neither the number of threads nor that of shards changes a byte.
//! - `merge` reads the command line in a ledger's first line, plans the same work, takes all parts from
//!   the ledgers, and makes the same report. It needs no code for any experiment. It refuses what a
//!   shard cannot have made: `Items::take` checks the parts of each line, and `Part::why_not` its
//!   counts.
//! - `submit` writes scripts for a scheduler (`src/ask/submit/slurm.rs`), and knows nothing of what is
//!   run. `status` reads ledgers alone (`shard_status.rs`). Both are hints; only `merge` decides.
//! - A shard has every n-th part of the work, and then reports nothing: some seeds of a cell are not its
//!   rate. For experiments that judge (`check`), or go on from what a job came to (`confirm`,
//!   `reproduce`), it has whole jobs.
//! - With a budget of time, rounds of further seeds follow the first. Only whole rounds count, so that
//!   no cell has more seeds than another.
//! - A `Report` has `Section`s, and those have forms (a table, a list, a chart, …). An output format is
//!   an `Exporter` (`export.rs`): it takes the forms that it can write.
//!
//! `Lab` and the command line both use this crate; a `Session` says how they want it done.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod bug;
pub mod data;
pub mod describe;
mod exit;
mod experiment;
pub mod export;
mod format;
pub mod layout;
pub mod ledger;
pub mod made_by;
pub mod output;
pub mod parts;
pub mod program;
pub mod progress;
pub mod recordings;
pub mod report;
pub mod scenarios;
pub mod section;
mod session;
mod shard;
pub mod shard_status;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod test_session;
pub mod work;

pub use self::exit::Exit;
pub use self::experiment::{Experiment, Reports, conduct, execute};
pub use self::format::Format;
pub use self::program::Program;
pub use self::session::{Session, Stop};
pub use self::shard::Shard;
pub use self::store::Store;
