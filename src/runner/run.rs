//! What a run leaves, in the simulator or on real servers.

use locklab_history::{Contents, History};
use locklab_world::TraceEvent;

/// A finished run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// What happened.
    pub history: History,
    /// The hash of every event of the world, in order; 0 on real servers, where no two runs are
    /// equal.
    pub trace_hash: u64,
    /// These events, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// What it was made of, if that was kept.
    pub contents: Option<Contents>,
    /// The longest time for which the machine stood still during a real run, in nanoseconds.
    pub stall_ns: u64,
    /// The version of the servers if they are real: `7.0.15`.
    pub server_version: Option<String>,
}
