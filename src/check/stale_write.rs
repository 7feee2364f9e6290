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

#[cfg(test)]
mod tests {
    use crate::Property::StaleWrite;
    use crate::history_builder::HistoryBuilder;

    const IN_DOUBT: &str = "c2 wrote at 40.0 ms after c1, and both had asked for the lock at \
                            once: nothing tells which of them was granted it last";

    #[test]
    fn each_writing_in_its_turn_holds() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .writes(20, "c1", 0)
            .writes(30, "c1", 1)
            .releases(40, "c1")
            .holds(50, "c2")
            .writes(60, "c2", 2)
            .expect_holds(StaleWrite);
    }

    #[test]
    fn the_sleeper_that_wakes_and_writes_is_stale() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(500, "c2")
            .writes(600, "c2", 0)
            .writes(900, "c1", 0)
            .expect_violated(
                StaleWrite,
                (900, 900),
                "c1 wrote version 2 at 900.0 ms on a lease that c2 had taken over at 500.0 ms \
                 and written under at 600.0 ms",
            );
    }

    #[test]
    fn later_write_may_be_stale_and_the_first_newer_write_is_named() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .writes(20, "c1", 0)
            .holds(500, "c2")
            .writes(600, "c2", 1)
            .writes(700, "c2", 2)
            .writes(900, "c1", 1)
            .expect_violated(
                StaleWrite,
                (900, 900),
                "c1 wrote version 4 at 900.0 ms on a lease that c2 had taken over at 500.0 ms \
                 and written under at 600.0 ms",
            );
    }

    #[test]
    fn refused_write_is_never_stale() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(500, "c2")
            .writes(600, "c2", 0)
            .refused_writing(900, "c1", 0)
            .expect_holds(StaleWrite);
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(500, "c2")
            .refused_writing(600, "c2", 0)
            .writes(900, "c1", 0)
            .expect_holds(StaleWrite);
    }

    #[test]
    fn a_stale_read_is_not_a_stale_write() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(500, "c2")
            .writes(600, "c2", 0)
            .reads(900, "c1", 1)
            .expect_holds(StaleWrite);
    }

    #[test]
    fn a_late_write_is_stale_only_once_a_newer_holder_has_written() {
        let released_early = || {
            HistoryBuilder::default()
                .holds(10, "c1")
                .releases(20, "c1")
                .holds(30, "c2")
        };
        released_early()
            .writes(40, "c1", 0)
            .writes(50, "c2", 1)
            .expect_holds(StaleWrite);
        released_early()
            .writes(40, "c2", 0)
            .writes(50, "c1", 1)
            .expect_violation_at(StaleWrite, 50);
    }

    #[test]
    fn own_older_grant_counts_as_older() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .releases(20, "c1")
            .holds(30, "c1")
            .writes(40, "c1", 0)
            .writes_under(50, "c1", 1, 1)
            .expect_violated(
                StaleWrite,
                (50, 50),
                "c1 wrote version 2 at 50.0 ms on a lease that c1 had taken over at 30.0 ms and \
                 written under at 40.0 ms",
            );
    }

    #[test]
    fn simultaneous_grants_are_ordered_by_their_records() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(10, "c2")
            .writes(20, "c2", 0)
            .writes(20, "c1", 1)
            .expect_violation_at(StaleWrite, 20);
    }

    #[test]
    fn tokens_order_overlapping_calls() {
        let told = |first, second| {
            HistoryBuilder::default()
                .tries(0, "c1")
                .tries(1, "c2")
                .granted_with_token(10, "c2", first)
                .granted_with_token(20, "c1", second)
                .writes(30, "c1", 0)
                .writes(40, "c2", 1)
        };
        // c1 is granted the lock first, but its call returns last.
        told(34, 33).expect_holds(StaleWrite);
        told(34, 33).writes(50, "c1", 2).expect_holds(StaleWrite);
        told(33, 34).expect_violation_at(StaleWrite, 40);
    }

    #[test]
    fn equal_tokens_give_no_order() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .tries(1, "c2")
            .granted_with_token(10, "c2", 33)
            .granted_with_token(20, "c1", 33)
            .writes(30, "c1", 0)
            .writes(40, "c2", 1)
            .expect_inconclusive(StaleWrite, IN_DOUBT);
    }

    /// c1 may have been granted the lock first; its call returns last.
    #[test]
    fn overlapping_calls_without_tokens_are_inconclusive() {
        let both = || {
            HistoryBuilder::default()
                .tries(0, "c1")
                .tries(1, "c2")
                .granted(10, "c2")
                .granted(20, "c1")
        };
        both()
            .writes(30, "c1", 0)
            .writes(40, "c2", 1)
            .expect_inconclusive(StaleWrite, IN_DOUBT);
        both()
            .writes(30, "c2", 0)
            .writes(40, "c1", 1)
            .expect_holds(StaleWrite);
        // A call that began when the other had returned did not overlap it.
        HistoryBuilder::default()
            .tries(1, "c2")
            .granted(10, "c2")
            .tries(10, "c1")
            .granted(20, "c1")
            .writes(30, "c1", 0)
            .writes(40, "c2", 1)
            .expect_violation_at(StaleWrite, 40);
    }

    /// c3's call overlapped both others, so its write tells nothing; c1's does.
    #[test]
    fn every_newer_writer_counts_also_an_older_one_of_two() {
        HistoryBuilder::default()
            .tries(0, "c3")
            .holds(10, "c2")
            .holds(20, "c1")
            .granted(30, "c3")
            .writes(40, "c3", 0)
            .writes(50, "c1", 1)
            .writes(60, "c2", 2)
            .expect_violation_at(StaleWrite, 60);
    }

    #[test]
    fn tokens_that_went_backwards_do_not_excuse_a_stale_write() {
        // The counter's node lost its data: the later holder has the lower token.
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 34)
            .tries(20, "c2")
            .granted_with_token(30, "c2", 1)
            .writes(40, "c2", 0)
            .writes(50, "c1", 1)
            .expect_violation_at(StaleWrite, 50);
    }

    #[test]
    fn a_write_without_a_known_grant_is_not_judged() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .writes(20, "c1", 0)
            .writes_under(30, "c2", 7, 1)
            .expect_holds(StaleWrite);
    }
}
