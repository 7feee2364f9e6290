//! The points that the programs of a run came to.

use locklab_history::{Failpoint, Moment, Name};
use locklab_vecmap::VecMap;

/// Counts the points of programs as they come to them.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Each with its true time in nanoseconds, in order.
    pub(crate) passed: Vec<(u64, Moment)>,
    counts: VecMap<(Name, Failpoint), u32>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_counted_for_each_client_and_kind() {
        let mut moments = Moments::default();
        for (at_ns, client) in [(1, "c1"), (2, "c2"), (3, "c1")] {
            moments.passes(at_ns, &client.into(), Failpoint::Acquired);
            moments.passes(at_ns, &client.into(), Failpoint::Read);
        }
        let passed = { moments.passed.iter() }.map(|(at_ns, moment)| format!("{at_ns} {moment}"));
        let expected = [
            "1 c1 acquired",
            "1 c1 read",
            "2 c2 acquired",
            "2 c2 read",
            "3 c1 acquired #2",
            "3 c1 read #2",
        ];
        assert_eq!(passed.collect::<Vec<_>>(), expected);
    }
}
