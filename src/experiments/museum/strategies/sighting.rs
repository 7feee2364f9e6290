//! A run that violates the property that is searched for, and what it took to find it.

use std::time::Duration;

use locklab_history::Schedule;
use serde::{Deserialize, Serialize};

/// A run that violates the property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sighting {
    pub(super) seed: u64,
    /// What the search had spent when this run was over.
    pub(super) cost: Cost,
    /// The faults of the run.
    pub(super) faults: Schedule,
    /// The same faults, each at the time at which it took effect.
    pub(super) at_their_times: Schedule,
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Runs, with those that were made to choose others.
    pub(super) runs: u64,
    /// Processor time, in nanoseconds.
    pub(super) cpu_ns: u64,
}

impl Cost {
    pub(super) fn new(runs: u64, cpu: Duration) -> Cost {
        let cpu_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        Cost { runs, cpu_ns }
    }
}
