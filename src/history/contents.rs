//! The contents of a run that are not in its history: the bytes of its messages, and the keys of
//! its nodes. A viewer shows them, and the situations of a campaign are found in them. No check reads them,
//! and no recording has them, because a simulated run can be repeated.

use crate::{Deadline, Name};

/// The contents of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// The bytes of each message, in the order of [`History::messages`](crate::History).
    pub payloads: Vec<Vec<u8>>,
    /// The keys of the nodes, in the order of true time.
    pub snapshots: Vec<KeySnapshot>,
    /// The requests that the nodes received, in the order of true time; only of a simulated run.
    pub visits: Vec<Visit>,
    /// Why there are no snapshots of a run on real servers, if there are none.
    pub unknown: Option<String>,
}

/// A node executed what a host had sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The node.
    pub node: Name,
    /// The host that sent it: a client, or another server.
    pub by: Name,
}

/// The keys of a node at one time. It is taken whenever they have changed, and at the end of the
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeySnapshot {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The node.
    pub host: Name,
    /// The host whose request made the change: a client, or another server. `None` if the node made
    /// it for a reason of its own, such as loading its files.
    pub by: Option<Name>,
    /// The node's wall clock, nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// The node's monotonic clock, nanoseconds since an origin of its own.
    pub mono_ns: u64,
    /// The keys that differ from the node's previous snapshot, in the order of their names.
    pub changed: Vec<KeyChange>,
}

/// A key that has changed.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChange {
    /// Its name.
    pub key: String,
    /// Its new state; `None` if it was deleted.
    pub now: Option<KeyState>,
}

/// The state of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyState {
    /// The value as readable text.
    pub value: String,
    /// Whether it can belong to several: a set, a list, or a hash with more than one field.
    pub has_several: bool,
    /// The end of its time to live by the node's own clock; `None` if it has none.
    pub expires: Option<Deadline>,
}
