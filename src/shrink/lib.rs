//! From a run that violates a property to the smallest scenario that violates the same one.
//!
//! A [`Subject`] is the run. [`shrink`] edits its scenario: each edit (`edit/`) makes it smaller by
//! one order, [`Size`], and each edit is tried by an actual run in the simulator. What violates the
//! property is kept, until no edit is left that does. [`needed`] answers a simpler question, which
//! of the faults the run needed; and [`Lost`], when it was lost.

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

pub use expect::{expect, tallies};
pub use lost::{Estimate, Lost, LostError, MOST_TIMES, Point};
pub use needed::{Needed, needed};
pub use restate::Span;
pub use search::{Minimum, NotViolated, Statistics, shrink};
pub use size::Size;
pub use subject::{Subject, usual_property};
pub use text::{lines, overridden, toml};
pub use trial::{Best, Options};
