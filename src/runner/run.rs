//! The result of a run, in the simulator or on real servers.

use locklab_history::{Contents, History};
use locklab_world::TraceEvent;

/// A finished run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// The history of the run.
    pub history: History,
    /// The hash of every event of the simulator, in order; 0 on real servers, where no two runs are
    /// equal.
    pub trace_hash: u64,
    /// These events, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// The bytes of messages and the keys of nodes, if they were kept.
    pub contents: Option<Contents>,
    /// The longest stall of the machine during a real run, in nanoseconds.
    pub stall_ns: u64,
    /// The version of the servers if they are real: `7.0.15`.
    pub server_version: Option<String>,
}
