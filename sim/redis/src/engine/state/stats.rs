//! The counters of INFO.

use indexmap::IndexMap;
use locklab_vecmap::VecMap;
use rustc_hash::FxBuildHasher;

use crate::wire::reply::Error;

/// The counters that CONFIG RESETSTAT resets.
#[derive(Default)]
pub(in crate::engine) struct Stats {
    /// Commands called.
    pub(in crate::engine) commands_processed: u64,
    /// Replicas that asked for a synchronisation and needed the whole data set.
    pub(in crate::engine) full_syncs: u64,
    /// Replicas that continued where they were.
    pub(in crate::engine) partial_syncs: u64,
    /// Replicas that asked to continue, and could not.
    pub(in crate::engine) refused_partial_syncs: u64,
    /// Error replies.
    pub(in crate::engine) error_replies: u64,
    /// Commands with their names, by the places of these in memory, which are found sooner.
    pub(in crate::engine) commands: IndexMap<(usize, usize), (&'static str, Calls), FxBuildHasher>,
    /// Error replies by their codes.
    pub(in crate::engine) errors: VecMap<String, u64>,
    /// The value of `error_replies` when the running command, or the last one that it called,
    /// began or ended.
    pub(in crate::engine) seen: u64,
    /// The errors that the running script got from commands.
    pub(in crate::engine) of_script: Vec<Error>,
}

/// The outcomes of a command's calls.
#[derive(Default)]
pub(in crate::engine) struct Calls {
    pub(in crate::engine) done: u64,
    /// Refused before they were called.
    pub(in crate::engine) rejected: u64,
    pub(in crate::engine) failed: u64,
}
