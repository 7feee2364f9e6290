//! Fault schedules: their description in a scenario, and their expansion.
//!
//! A scenario *describes* faults, some of their numbers as distributions; before a run, every
//! number is drawn from the run's own `faults` stream and the result is a
//! [`Schedule`](locklab_history::Schedule), which the runner executes, a recording stores and a
//! shrinker may edit. Nothing is drawn during a run.

mod expand;
mod fault_table;
mod redraw;
mod settled;
mod spec;
mod trigger;

pub use expand::expand;
pub use fault_table::{amount_key, keys};
pub use redraw::{SoFar, redraw};
pub use spec::{Described, FaultSpec, Placement};
pub use trigger::ON_THE_WIRE;
