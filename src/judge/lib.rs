//! The judge of lock histories from anywhere.
//!
//! A history is read as JSON lines ([`json_lines`]), as Jepsen's EDN ([`jepsen`]), or taken from a
//! recording of Locklab ([`recorded`]). It is judged twice. By intervals: what a process surely held,
//! from the return of `acquire` to its call of `release`, becomes a history of Locklab's own and is
//! judged by `locklab-check`; a few checks that only such histories need are in [`checks`]. And by
//! search: whether some order of the calls, each between its invocation and its return, is one that
//! the lock's model allows ([`search`]).
//!
//! It knows no lock, no server and no simulator.

mod builder;
pub mod checks;
mod clocks;
pub mod edn;
mod evidence;
mod history;
mod intervals;
pub mod jepsen;
pub mod json_lines;
pub mod models;
mod raw;
pub mod recorded;
pub mod search;
mod verdict;

pub use self::evidence::Evidence;
pub use self::history::{
    Access, Call, Clock, Deadline, KeyHistory, LockHistory, Outcome, Point, What,
};
pub use self::intervals::Intervals;
pub use self::models::{Act, ModelName};
pub use self::raw::{Header, InputError};
pub use self::verdict::{Criterion, KeyReport, Verdict, by_search, judge_intervals, judge_key};
