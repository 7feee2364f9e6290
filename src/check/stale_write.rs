//! No write of an older holder is accepted after a newer holder's.
//!
//! A holder is a grant, not a client: a request of a client's first grant that arrives after a
//! write of its third is as stale as another client's. The belief of the writer does not matter
//! either. A write that was in transit when its client released the lock is judged like one of a
//! client that was paused beyond its lease; and while no newer holder has written, it is not a
//! stale write, only a late one. (If the newer holder then overwrites it without having read it,
//! that is a lost update.)
//!
//! Grants are ordered by the time at which `acquire` returned. That may not be the order in
//! which the lock was granted: a reply can be delayed in a paused client while the lease runs
//! out and the lock passes on. Only two calls of `acquire` that overlap in time can appear in
//! the wrong order. If both grants of such a pair carry fencing tokens, the tokens decide; if
//! they do not, or the tokens are equal, it is unknown whether a write of the one after the
//! other's is stale, and the verdict is inconclusive.
//!
//! Writes under a grant that the history does not contain are not judged.

use super::{Verdict, Violation};
use locklab_history::timeline::{Holder, Timeline};
use locklab_history::{Access, Event, Name, Record};
use locklab_vecmap::VecMap;

/// A grant under which the resource accepted a write.
struct Writer<'h> {
    holder: Holder<'h>,
    /// True time of its first accepted write.
    wrote_ns: u64,
}

pub(super) fn check(timeline: &Timeline) -> Verdict {
    // By their places in the order of grants.
    let mut writers: VecMap<usize, Writer> = VecMap::new();
    let mut doubt = None;
    for (_, _, record) in timeline.records() {
        let Event::Access {
            client,
            grant,
            access: Access::Write { version, .. },
            accepted: true,
            ..
        } = &record.event
        else {
            continue;
        };
        let holder = (client, *grant);
        let Some(place) = timeline.grant_of(holder) else {
            continue;
        };

        let mut stale_after = None;
        for (newer_place, newer) in writers.range(place + 1..).rev() {
            match order(timeline, place, *newer_place) {
                Order::AsTold => stale_after = stale_after.or(Some((newer_place, newer))),
                Order::Reverse => {}
                Order::Unknown => {
                    doubt.get_or_insert_with(|| in_doubt(timeline, record, client, newer.holder.0));
                }
            }
        }
        if let Some((newer_place, newer)) = stale_after {
            let taken_over_ns = timeline.grants[*newer_place].begins_ns;
            return Verdict::Violated(Violation {
                at_ns: record.at_ns,
                until_ns: record.at_ns,
                clients: timeline.clients([holder, newer.holder]),
                what: format!(
                    "{client} wrote version {version} at {} on a lease that {} had taken over \
                     at {} and written under at {}",
                    timeline.at(record.at_ns),
                    newer.holder.0,
                    timeline.at(taken_over_ns),
                    timeline.at(newer.wrote_ns),
                ),
            });
        }
        let wrote_ns = record.at_ns;
        writers.entry(place).or_insert(Writer { holder, wrote_ns });
    }
    doubt.map_or(Verdict::Holds, |why| Verdict::Inconclusive { why })
}

fn in_doubt(timeline: &Timeline, written: &Record, client: &Name, other: &Name) -> String {
    format!(
        "{client} wrote at {} after {other}, and both had asked for the lock at once: nothing \
         tells which of them was granted it last",
        timeline.at(written.at_ns)
    )
}

/// The order of two grants.
enum Order {
    /// The order in which their calls returned.
    AsTold,
    /// The reverse order.
    Reverse,
    /// Unknown.
    Unknown,
}

/// The order of two grants, where the call for `first` returned first.
fn order(timeline: &Timeline, first: usize, second: usize) -> Order {
    let (first, second) = (&timeline.grants[first], &timeline.grants[second]);
    if second.asked.is_none_or(|asked| asked >= first.began) {
        return Order::AsTold;
    }
    match (first.token, second.token) {
        (Some(one), Some(other)) if one < other => Order::AsTold,
        (Some(one), Some(other)) if one > other => Order::Reverse,
        _ => Order::Unknown,
    }
}
