//! From a run that violates a property to the smallest scenario that violates the same one.
//!
//! A [`Subject`] is the run. [`shrink`] edits its scenario, and each edit is tried by an actual run in the
//! simulator. What violates the property is kept, until no edit is left that does. [`needed`] answers a
//! simpler question, which of the faults the run needed; and [`Lost`], when it was lost.
//!
//! A scenario is smaller than another by one lexicographic order, [`Size`]: faults, clients, servers, rounds,
//! random parts, then what makes it read well. An edit (`edit/`) is a function from the best scenario and its
//! run to candidates, the simplest first. Only candidates that are smaller are run, so the search ends. The
//! first that violates the property is taken: several threads try several at a time, but the choice is by
//! place, so neither the result nor the counted runs depend on their number. A new edit is a function in
//! `edit/` and an entry in `edit.rs`; a new way of placing a fault adds its candidates to
//! `edit/placement.rs` and its cost to `size.rs`. A [`Counterexample`] is the result as a reader gets it.
//!
//! [`Lost`] lets a run draw anew from a time on (`Renewal`): the streams of a world share a counter of renewals
//! (`src/values/random.rs`), and a stream that finds it changed begins anew from the next seed. Faults are drawn
//! before a run, so `src/model/fault/redraw.rs` draws those that had not begun by then, by rejection. Without
//! renewals nothing changes. With them a run is still a function of its arguments.
//!
//! Leaving out a host changes the random draws of others: the hosts behind it are renamed, and with their names
//! their streams. And three streams are shared by all: `network` (delays in the order of messages), `order` (of
//! ready tasks) and the lossy links' draws. A message less shifts all later delays. So a candidate is also tried
//! with other seeds, and constants come early.

mod counterexample;
mod edit;
mod expect;
mod json;
mod lost;
mod needed;
mod optional;
mod restate;
mod search;
mod size;
mod subject;
mod text;
mod trial;

pub use counterexample::{Counterexample, Untold, numbered};
pub use expect::{expect, tallies};
pub use lost::{Estimate, Lost, LostError, MOST_TIMES, Point};
pub use needed::{Needed, needed};
pub use restate::Span;
pub use search::{Minimum, NotViolated, Statistics, shrink};
pub use size::Size;
pub use subject::Subject;
pub use text::{lines, overridden, toml};
pub use trial::{Best, Options};

/// How many other seeds are tried for each candidate, unless the user says otherwise.
pub const USUAL_TRIES: u64 = 8;
