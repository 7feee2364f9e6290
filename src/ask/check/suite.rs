//! Scenarios and recorded failures as a regression suite, for continuous integration.
//!
//! A *case* is a scenario with its predictions, or a recording that is judged again: the same
//! scenario, seed and faults with today's code. [`find`] collects the cases of files and folders,
//! [`Filter`] chooses among them, and [`results`] says what came of them, in a form in which two
//! suites can be compared. JUnit, Markdown and GitHub's
//! annotations are made from these results alone.

mod baseline;
mod case;
mod filter;
mod github;
mod junit;
mod markdown;
mod plain;
pub mod results;
mod settings;
pub(crate) mod xml;

pub use baseline::{Change, Comparison, Edit, compare};
pub use case::{Case, Kind, find, shipped};
pub use filter::Filter;
pub use github::annotations;
pub use junit::junit;
pub use markdown::{markdown, summary};
pub use plain::failures;
pub use results::{CaseResult, Results};
pub use settings::{Profile, profile};
