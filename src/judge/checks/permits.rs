//! No more permits are surely held at once than the semaphore has.
//!
//! A permit is surely held from the return of `acquire` to the call of `release`, or to its deadline.
//!
//! A history shows this only if too few permits were left for a call of `acquire` that was answered.

use std::collections::BTreeMap;

use locklab_check::Violation;
use locklab_history::Name;
use locklab_history::timeline::{Grant, Timeline};

use crate::evidence::Evidence;
use crate::history::{Call, Outcome};
use crate::intervals::Intervals;
use crate::models::Act;

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
            return Some(evidence(
                intervals,
                timeline,
                &grants[..=place],
                taken,
                permits,
            ));
        }
    }
    None
}

/// Whether a call of `acquire` that was answered asked for more permits, at some time while it lasted, than were
/// left: only such a call can have been given one too many.
pub fn had_opportunity(
    intervals: &Intervals,
    timeline: &Timeline,
    calls: &[Call],
    permits: u32,
) -> bool {
    // What happens at a time, in this order: calls end, grants end, grants begin, calls begin.
    let mut events: Vec<(u64, u8, u64)> = Vec::new();
    for grant in timeline.grants.iter().filter(|grant| counts(grant)) {
        let taken = u64::from(intervals.permits(grant));
        events.push((grant.lapses_ns, 1, taken));
        events.push((grant.begins_ns, 2, taken));
    }
    for call in calls.iter().filter(|call| is_answered(call)) {
        if let Some((returned_ns, _)) = call.returned {
            events.push((returned_ns, 0, u64::from(call.permits)));
            events.push((call.invoked_ns, 3, u64::from(call.permits)));
        }
    }
    events.sort_unstable();
    let mut taken = 0;
    let mut asked: BTreeMap<u64, u32> = BTreeMap::new();
    events.into_iter().any(|(_, what, amount)| {
        match what {
            0 => match asked.get_mut(&amount) {
                Some(calls) if *calls > 1 => *calls -= 1,
                _ => drop(asked.remove(&amount)),
            },
            1 => taken -= amount,
            2 => taken += amount,
            _ => *asked.entry(amount).or_default() += 1,
        }
        let most = asked.last_key_value();
        most.is_some_and(|(most, _)| taken + most > u64::from(permits))
    })
}

fn is_answered(call: &Call) -> bool {
    call.act == Act::Acquire && call.outcome != Outcome::Unknown
}

/// A grant that was over when it came counts for nothing.
fn counts(grant: &Grant) -> bool {
    grant.lapses_ns > grant.begins_ns
}

fn evidence(
    intervals: &Intervals,
    timeline: &Timeline,
    grants: &[Grant],
    taken: u64,
    permits: u32,
) -> Evidence {
    let last = &grants[grants.len() - 1];
    let at_ns = last.begins_ns;
    let holds = |grant: &&Grant| counts(grant) && grant.lapses_ns > at_ns;
    let held = || grants.iter().filter(holds);
    let until_ns = held().map(|grant| grant.lapses_ns).min().unwrap_or(at_ns);
    let lines = held().flat_map(|grant| intervals.lines_of(grant));
    let what = format!(
        "{} was granted the lock at {}, and {taken} permits were held at once, of {permits}",
        last.client,
        timeline.at(at_ns),
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
