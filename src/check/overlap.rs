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
    let mut exclusive = Longest::default();
    let mut all = Longest::default();
    for later in &timeline.grants {
        if end_ns(later) <= later.begins_ns {
            continue;
        }
        let others = if later.shared { &exclusive } else { &all };
        let overlapped = others.of_others(later);
        if let Some(earlier) = overlapped.filter(|earlier| end_ns(earlier) > later.begins_ns) {
            return Some(Overlap {
                earlier,
                later,
                at_ns: later.begins_ns,
                until_ns: end_ns(earlier).min(end_ns(later)),
            });
        }
        all.take(later, &end_ns);
        if !later.shared {
            exclusive.take(later, &end_ns);
        }
    }
    None
}

/// The grant that lasts longest so far, and the one of any other client; of equals the last.
#[derive(Default)]
struct Longest<'t, 'h> {
    first: Option<&'t Grant<'h>>,
    other: Option<&'t Grant<'h>>,
}

impl<'t, 'h> Longest<'t, 'h> {
    fn take(&mut self, grant: &'t Grant<'h>, end_ns: impl Fn(&Grant) -> u64) {
        let lasts_longer =
            |than: Option<&Grant>| than.is_none_or(|than| end_ns(grant) >= end_ns(than));
        let is_firsts = self.first.is_some_and(|first| first.host == grant.host);
        if lasts_longer(self.first) {
            if !is_firsts {
                self.other = self.first;
            }
            self.first = Some(grant);
        } else if !is_firsts && lasts_longer(self.other) {
            self.other = Some(grant);
        }
    }

    /// The longest of a client other than the holder of this one.
    fn of_others(&self, grant: &Grant) -> Option<&'t Grant<'h>> {
        self.first
            .filter(|first| first.host != grant.host)
            .or(self.other)
    }
}
