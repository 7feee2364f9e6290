//! No more permits are surely held at once than the semaphore has.
//!
//! A permit is surely held from the return of `acquire` to the call of `release`, or to its deadline.

use locklab_check::{Ms, Violation};
use locklab_history::Name;
use locklab_history::timeline::{Grant, Timeline};

use crate::evidence::Evidence;
use crate::intervals::Intervals;

/// The first time at which more than `permits` are held.
pub fn check(intervals: &Intervals, timeline: &Timeline, permits: u32) -> Option<Evidence> {
    let grants = &timeline.grants;
    let mut ends: Vec<(u64, usize)> = (grants.iter().enumerate())
        .map(|(place, grant)| (grant.lapses_ns, place))
        .collect();
    ends.sort_unstable();
    let mut over = ends.into_iter().peekable();
    let mut taken = 0;
    for (place, grant) in grants.iter().enumerate() {
        // What ends at this instant has ended.
        while let Some((_, ended)) = over.next_if(|&(at_ns, _)| at_ns <= grant.begins_ns) {
            if counts(&grants[ended]) && ended < place {
                taken -= u64::from(intervals.permits(&grants[ended]));
            }
        }
        if !counts(grant) {
            continue;
        }
        taken += u64::from(intervals.permits(grant));
        if taken > u64::from(permits) {
            return Some(evidence(intervals, &grants[..=place], taken, permits));
        }
    }
    None
}

/// A grant that was over when it came counts for nothing.
fn counts(grant: &Grant) -> bool {
    grant.lapses_ns > grant.begins_ns
}

fn evidence(intervals: &Intervals, grants: &[Grant], taken: u64, permits: u32) -> Evidence {
    let last = &grants[grants.len() - 1];
    let at_ns = last.begins_ns;
    let holds = |grant: &&Grant| counts(grant) && grant.lapses_ns > at_ns;
    let held = || grants.iter().filter(holds);
    let until_ns = held().map(|grant| grant.lapses_ns).min().unwrap_or(at_ns);
    let lines = held().flat_map(|grant| intervals.lines_of(grant));
    let what = format!(
        "{} was granted the lock at {}, and {taken} permits were held at once, of {permits}",
        last.client,
        Ms(at_ns),
    );
    let mut clients: Vec<Name> = held().map(|grant| grant.client.clone()).collect();
    clients.dedup();
    let violation = Violation {
        at_ns,
        until_ns,
        clients,
        what,
    };
    Evidence::new(violation, lines)
}
