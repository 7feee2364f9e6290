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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_builder::HistoryBuilder;

    #[track_caller]
    fn check(builder: HistoryBuilder, expected: (u64, u64, u64)) {
        let Writes {
            accepted,
            refused,
            lost,
        } = writes(&builder.history());
        assert_eq!((accepted, refused, lost), expected);
    }

    #[test]
    fn updates_that_build_on_each_other_are_all_kept() {
        let builder = HistoryBuilder::default()
            .writes(1, "c1", 0)
            .writes(2, "c2", 1);
        check(builder.writes(3, "c1", 2), (3, 0, 0));
        check(HistoryBuilder::default(), (0, 0, 0));
    }

    #[test]
    fn late_write_loses_every_unseen_version() {
        let builder = HistoryBuilder::default()
            .writes(1, "c1", 0)
            .writes(2, "c2", 1)
            .writes(3, "c2", 2)
            // From version 1: versions 2 and 3 are gone.
            .writes(4, "c1", 1);
        check(builder.clone(), (4, 0, 2));
        check(builder.writes(5, "c2", 4), (5, 0, 2));
    }

    #[test]
    fn a_refused_write_changes_nothing() {
        let builder = HistoryBuilder::default().writes(1, "c1", 0);
        let builder = builder.refused_writing(2, "c2", 0).writes(3, "c1", 1);
        check(builder, (2, 1, 0));
    }
}
