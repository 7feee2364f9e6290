//! The first time at which two clients hold what only one may hold.

use super::Violation;
use locklab_history::timeline::{Grant, Timeline};

/// Two clients' beliefs that overlap.
pub(super) struct Overlap<'t, 'h> {
    /// The belief that began first.
    pub(super) earlier: &'t Grant<'h>,
    /// The belief that began second.
    pub(super) later: &'t Grant<'h>,
    /// True time at which the second belief begins.
    pub(super) at_ns: u64,
    /// True time at which the first of the two ends.
    pub(super) until_ns: u64,
}

impl Overlap<'_, '_> {
    pub(super) fn violation(&self, what: String) -> Violation {
        Violation {
            at_ns: self.at_ns,
            until_ns: self.until_ns,
            clients: vec![self.earlier.client.clone(), self.later.client.clone()],
            what,
        }
    }
}

/// Finds the first overlap of two different clients' beliefs, each from the
/// beginning of its grant up to, but not including, the time that `end_ns` gives.
/// Readers may overlap one another.
///
/// Grants are ordered by their beginnings. If a new grant overlaps several others, the one that
/// lasts longest is reported.
pub(super) fn first<'t, 'h>(
    timeline: &'t Timeline<'h>,
    end_ns: impl Fn(&Grant) -> u64,
) -> Option<Overlap<'t, 'h>> {
    let mut lasting: Vec<&Grant> = Vec::new();
    for later in &timeline.grants {
        if end_ns(later) <= later.begins_ns {
            continue;
        }
        lasting.retain(|earlier| end_ns(earlier) > later.begins_ns);
        let overlapped = lasting
            .iter()
            .filter(|earlier| earlier.excludes(later))
            .max_by_key(|earlier| end_ns(earlier));
        if let Some(earlier) = overlapped {
            return Some(Overlap {
                earlier,
                later,
                at_ns: later.begins_ns,
                until_ns: end_ns(earlier).min(end_ns(later)),
            });
        }
        lasting.push(later);
    }
    None
}
