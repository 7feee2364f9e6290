//! Fault schedules as data.
//!
//! A scenario *describes* faults, some of their numbers as distributions; before a
//! run, every number is drawn from the run's own `faults` stream and the result is
//! a [`Schedule`], which the runner executes, a recording stores and a shrinker may
//! edit. Nothing is drawn while a run is under way.

mod expand;
pub mod failover;
mod spec;
mod table;
pub mod trigger;

pub use expand::expand;
pub use locklab_history::{Fault, FaultKind, Moment, POINTS, Schedule, Start};
pub use spec::{Direction, Effect, FaultSpec, Link, Placement};

/// Every kind of fault: its name, its own keys in a scenario, and what it does.
pub const KINDS: &[(&str, &str, &str)] = &[
    (
        "pause",
        "on",
        "the process stands still; its clocks run (SIGSTOP, a garbage collection)",
    ),
    (
        "suspend",
        "on",
        "the machine stands still, its monotonic clock too (a virtual machine)",
    ),
    (
        "kill",
        "on",
        "the process ends; it starts again after duration_ms, if there is one",
    ),
    (
        "crash",
        "on",
        "power loss: silence, then memory is gone; starts again after duration_ms",
    ),
    ("partition", "from, to, direction", "nothing gets through"),
    (
        "slow-link",
        "from, to, direction, extra_ms",
        "everything takes longer",
    ),
    (
        "loss",
        "from, to, direction, probability",
        "transmissions are lost and repeated",
    ),
    (
        "clock-step",
        "on, step_ms",
        "the wall clock jumps, back if negative",
    ),
    (
        "clock-rate",
        "on, drift_ppm",
        "both clocks run wrong by this rate",
    ),
    (
        "failover",
        "on",
        "an operator asks a sentinel, a master or a replica for a failover; over at once",
    ),
];
