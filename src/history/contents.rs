//! What a run was made of beside its history: the bytes of its messages, and the keys of its
//! nodes. A viewer shows them; no check reads them, and no recording has them, because a run of
//! the world can be repeated.

use crate::{Deadline, Name};

/// The contents of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// The bytes of each message, in the order of [`History::messages`](crate::History).
    pub payloads: Vec<Vec<u8>>,
    /// What the nodes held, in the order of true time.
    pub snapshots: Vec<KeySnapshot>,
}

/// A look at a node's keys. A node has one whenever they have changed, and one at the end of the
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeySnapshot {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The node.
    pub host: Name,
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
    /// What the node holds under it now; `None` if it was deleted.
    pub now: Option<KeyState>,
}

/// What a node holds under a key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyState {
    /// The value as readable text.
    pub value: String,
    /// When it is over by the node's own clock; `None` if it has no time to live.
    pub expires: Option<Deadline>,
}
