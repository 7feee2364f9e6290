//! Counts accepted, lost and refused writes at the resource: a measurement, not a property.
//!
//! An update is an accepted write. It is lost if the last version was not computed from it, step
//! by step: this is what Jepsen counts when clients add elements to a set under a lock, and the
//! set is read at the end (claim J1). A write may also be refused: the price of fencing (claim
//! A4).

use locklab_history::{Access, Event, History};
use locklab_vecmap::VecMap;

/// The writes of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Writes {
    /// Writes that the resource accepted.
    pub accepted: u64,
    /// Writes that it refused.
    pub refused: u64,
    /// Accepted writes that the last version does not contain.
    pub lost: u64,
}

/// Counts the writes of a history.
pub fn writes(history: &History) -> Writes {
    let mut writes = Writes::default();
    let mut bases = VecMap::new();
    let mut last = 0;
    for record in &history.records {
        let Event::Access {
            access: Access::Write { based_on, version },
            accepted,
            ..
        } = record.event
        else {
            continue;
        };
        if accepted {
            writes.accepted += 1;
            bases.insert(version, based_on);
            last = version;
        } else {
            writes.refused += 1;
        }
    }
    let mut kept = 0;
    // A base is an earlier version; what has none was never written.
    while let Some(base) = bases.remove(&last) {
        kept += 1;
        last = base;
    }
    writes.lost = writes.accepted - kept;
    writes
}
