//! The points that the programs of a run came to.

use std::collections::BTreeMap;

use locklab_history::{Failpoint, Moment, Name};

/// Counts the points of programs as they come to them.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Each with its true time in nanoseconds, in order.
    pub(crate) passed: Vec<(u64, Moment)>,
    counts: BTreeMap<(Name, Failpoint), u32>,
}

impl Moments {
    /// This client has come to this point.
    pub(crate) fn passes(&mut self, at_ns: u64, client: &Name, point: Failpoint) {
        let client = client.clone();
        let nth = self.counts.entry((client.clone(), point)).or_default();
        *nth += 1;
        let nth = *nth;
        self.passed.push((at_ns, Moment { client, point, nth }));
    }
}
