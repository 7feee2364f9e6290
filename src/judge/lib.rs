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
//!
//! - A model is a state, and a step that a call makes in it, or cannot. With a lease time enters: the
//!   state has the earliest time at which the last call can have taken effect, since an earlier time
//!   forbids nothing that a later one allows. So the search needs no choice of times, and an expiry is
//!   no step of its own.
//! - The search remembers a set of calls with a state. Such a set is its last call and the few before it
//!   that are not in it, so a million calls cost as many small keys. Calls of unknown outcome are a set
//!   of their own, because they can stay outside for ever. Only states with a choice are remembered.
//! - Deadlines on a process's own clock become true times before the search (`true_deadlines`), by the
//!   same interpolation as in the timeline.
//! - The EDN reader is ours: what histories need is a page, and the crates that read EDN have no lines
//!   in their errors.

mod amount;
mod builder;
pub mod checks;
mod clocks;
mod edn;
mod evidence;
mod history;
mod intervals;
pub mod jepsen;
pub mod json_lines;
pub mod models;
mod raw;
#[cfg(test)]
mod readings;
pub mod recorded;
pub mod search;
mod verdict;

pub use self::evidence::Evidence;
pub use self::history::{
    Access, Call, Clock, Deadline, KeyHistory, LockHistory, Outcome, Point, Shown, What,
};
pub use self::intervals::Intervals;
pub use self::models::{Act, ModelName};
pub use self::raw::{Given, Header, InputError, Pairs};
pub use self::verdict::{Criterion, KeyReport, Verdict, by_search, judge_key, unbounded};
