//! No release deletes another client's lock.
//!
//! No history records whose key a release deleted, but with one server it can be inferred.
//! There a client gets the lock only while the key is absent. So when client B asked for the
//! lock after A had been granted it, and B was granted it too, A's key was gone by then, and an
//! extension cannot restore it. A release that A calls after that and that still deletes a key
//! deletes B's or a successor's.
//!
//! - B must have *asked* after A's grant. If their calls overlap in time, A's may be the one
//!   that was served last, and A's key may well be there.
//! - B must have *been granted* the lock before A called `release`, or, where the history
//!   records when A sent the deleting command, before that. Otherwise the release may have
//!   deleted A's key first and so let B in.
//! - A and B must not both be readers, which share the lock.
//!
//! A grant that a client gets while it already holds the lock does not count as B's: it may
//! come from a count in the client, and shows nothing about the key.
//!
//! A may have asked for the lock again when its lease was over, and hold it again when it
//! releases the old grant. Then the key is its own, as far as the history shows, unless another
//! client has also followed this newer grant.
//!
//! With several servers none of this follows. A key of A's own can remain on a minority that B
//! did not need, or on a deposed master, and deleting it there is right; and a history has the
//! number of deleted keys summed over the servers. So with more than one server the check
//! reports nothing.

use super::{Verdict, Violation};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Failpoint, Op};

pub(super) fn check(timeline: &Timeline, nodes: u32) -> Verdict {
    if nodes != 1 {
        return Verdict::Inconclusive {
            why: "the owner of a deleted key is known on one node only".into(),
        };
    }

    let mut granted = Granted::default();
    // Per host: until when it believes in its grants so far.
    let mut believes_until_ns = vec![0; timeline.hosts];
    let mut begun = timeline.grants.iter().peekable();
    // Per host: when it last called release, the other client's grant that was requested last.
    let mut at_release: Vec<Conflicting> = vec![Conflicting::default(); timeline.hosts];
    // Per host: the index of that call in the history.
    let mut released_at = vec![0; timeline.hosts];
    for (index, host, record) in timeline.records() {
        while let Some(grant) = begun.next_if(|grant| grant.began <= index) {
            let believes_until_ns = &mut believes_until_ns[grant.host];
            if grant.begins_ns >= *believes_until_ns {
                granted.take(grant);
            }
            *believes_until_ns = grant.ends_ns.max(*believes_until_ns);
        }
        match record.event {
            Event::Invoke {
                op: Op::Release, ..
            } => {
                at_release[host] = granted.other_than(host);
                released_at[host] = index;
            }
            // Some locks check before they delete; this is the time of the deletion.
            ref event if event.is_reached(Failpoint::Deleting) => {
                at_release[host] = granted.other_than(host);
                released_at[host] = index;
            }
            Event::Released {
                grant,
                removed: 1..,
            } => {
                let own = timeline
                    .grant(host, grant)
                    .map(|place| &timeline.grants[place]);
                if let Some(own) = own
                    && let Some(newer) = at_release[host].with(own)
                    && newer.asked > Some(last_of_own(timeline, own, released_at[host]).began)
                {
                    return Verdict::Violated(Violation {
                        at_ns: record.at_ns,
                        until_ns: record.at_ns,
                        clients: vec![own.client.clone(), newer.client.clone()],
                        what: format!(
                            "{}, granted the lock at {}, released it at {} and deleted a lock \
                             that was not its own any more: {} had been granted it at {}",
                            own.client,
                            timeline.at(own.begins_ns),
                            timeline.at(record.at_ns),
                            newer.client,
                            timeline.at(newer.begins_ns),
                        ),
                    });
                }
            }
            _ => {}
        }
    }
    Verdict::Holds
}

/// The last of a client's grants that the key may belong to when the client releases one of them:
/// the released grant, or one that the client requested after the lease of the released one was
/// over.
fn last_of_own<'t, 'h>(
    timeline: &'t Timeline<'h>,
    own: &'t Grant<'h>,
    released_at: usize,
) -> &'t Grant<'h> {
    let records = timeline.all_records();
    let is_new = |grant: &&Grant| {
        let asked_ns = grant.asked.map(|asked| records[asked].at_ns);
        grant.host == own.host && grant.number != own.number && asked_ns >= Some(own.lapses_ns)
    };
    let grants = &timeline.grants;
    // None that began before it was asked for after its lease.
    let from = grants.partition_point(|grant| grant.begins_ns < own.begins_ns);
    let end = grants.partition_point(|grant| grant.began < released_at);
    let later = grants.get(from..end).unwrap_or_default();
    later.iter().rfind(is_new).unwrap_or(own)
}

/// The grants so far: all of them, and the exclusive ones.
#[derive(Default)]
struct Granted<'t, 'h> {
    all: LastAsked<'t, 'h>,
    exclusive: LastAsked<'t, 'h>,
}

impl<'t, 'h> Granted<'t, 'h> {
    fn take(&mut self, grant: &'t Grant<'h>) {
        self.all.take(grant);
        if !grant.shared {
            self.exclusive.take(grant);
        }
    }

    fn other_than(&self, host: usize) -> Conflicting<'t, 'h> {
        Conflicting {
            with_writer: self.all.other_than(host),
            with_reader: self.exclusive.other_than(host),
        }
    }
}

/// The grant requested last that cannot coexist with a client's own.
#[derive(Default, Clone, Copy)]
struct Conflicting<'t, 'h> {
    with_writer: Option<&'t Grant<'h>>,
    with_reader: Option<&'t Grant<'h>>,
}

impl<'t, 'h> Conflicting<'t, 'h> {
    fn with(self, own: &Grant) -> Option<&'t Grant<'h>> {
        match own.shared {
            true => self.with_reader,
            false => self.with_writer,
        }
    }
}

/// The grant requested last so far, and the last one of any other client.
#[derive(Default)]
struct LastAsked<'t, 'h> {
    last: Option<&'t Grant<'h>>,
    other: Option<&'t Grant<'h>>,
}

impl<'t, 'h> LastAsked<'t, 'h> {
    fn take(&mut self, grant: &'t Grant<'h>) {
        let asked = |grant: Option<&Grant>| grant.and_then(|grant| grant.asked);
        let is_lasts = self.last.is_some_and(|last| last.host == grant.host);
        if grant.asked >= asked(self.last) {
            if !is_lasts {
                self.other = self.last;
            }
            self.last = Some(grant);
        } else if grant.asked >= asked(self.other) {
            // A client's own grants are ordered by its requests.
            self.other = Some(grant);
        }
    }

    fn other_than(&self, host: usize) -> Option<&'t Grant<'h>> {
        self.last.filter(|last| last.host != host).or(self.other)
    }
}

#[cfg(test)]
mod tests {
    use crate::Property::ForeignRelease;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::ClockKind::Wall;

    /// c1 outlives its lease and c2 takes over.
    fn taken_over() -> HistoryBuilder {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(500, "c2")
            .granted(510, "c2")
    }

    /// A later grant that the key may belong to is one of the releaser's own, not one of the client that took
    /// the lock over, whatever their numbers are.
    #[test]
    fn the_grant_of_the_client_that_took_over_excuses_no_release() {
        HistoryBuilder::default()
            .tries(0, "c2")
            .granted(1, "c2")
            .releases(2, "c2")
            .released(3, "c2", 1)
            .tries(4, "c1")
            .holds_for(10, "c1", Wall, 100)
            .tries(500, "c2")
            .granted(510, "c2")
            .releases(700, "c1")
            .released(710, "c1", 1)
            .expect_violation_at(ForeignRelease, 710);
    }

    /// c1 takes the lock again, from a count of its own, after c2 has taken it over.
    #[test]
    fn a_grant_within_another_shows_nothing_of_the_key() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(500, "c2")
            .granted(510, "c2")
            .tries(600, "c1")
            .granted(600, "c1")
            .releases(700, "c2")
            .released(710, "c2", 1)
            .expect_holds(ForeignRelease);
    }

    /// Two tasks of c2, one after the other, and c1 between them: the second is granted the lock when the first one's
    /// release has begun.
    #[test]
    fn a_grant_at_the_end_of_the_last_one_is_not_within_it() {
        let second_granted_at = |ms: u64, builder: HistoryBuilder| {
            builder
                .granted(ms, "c2")
                .releases(150, "c1")
                .released(160, "c1", 1)
        };
        let both_ask = || {
            HistoryBuilder::default()
                .tries(0, "c2")
                .granted(5, "c2")
                .tries(20, "c1")
                .granted(50, "c1")
                .tries(90, "c2")
        };
        second_granted_at(100, both_ask().releases(100, "c2"))
            .expect_violation_at(ForeignRelease, 160);
        second_granted_at(99, both_ask()).expect_holds(ForeignRelease);
    }

    #[test]
    fn readers_acquire_and_release_independently() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_to_read(10, "c1")
            .tries(20, "c2")
            .granted_to_read(30, "c2")
            .releases(40, "c2")
            .released(50, "c2", 0)
            .releases(60, "c1")
            .released(70, "c1", 1)
            .expect_holds(ForeignRelease);
        // But a reader whose hold still exists excludes writers.
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_to_read(10, "c1")
            .tries(20, "c2")
            .granted(30, "c2")
            .releases(60, "c1")
            .released(70, "c1", 1)
            .expect_violation_at(ForeignRelease, 70);
    }

    #[test]
    fn deleting_own_key_holds() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .releases(20, "c1")
            .released(30, "c1", 1)
            .tries(40, "c2")
            .granted(50, "c2")
            .releases(60, "c2")
            .released(70, "c2", 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn deleting_after_another_took_over_is_foreign() {
        taken_over()
            .releases(600, "c1")
            .released(610, "c1", 1)
            .expect_violated(
                ForeignRelease,
                (610, 610),
                "c1, granted the lock at 10.0 ms, released it at 610.0 ms and deleted a lock \
                 that was not its own any more: c2 had been granted it at 510.0 ms",
            );
    }

    #[test]
    fn finding_no_own_key_holds() {
        taken_over()
            .releases(600, "c1")
            .released(610, "c1", 0)
            .releases(700, "c2")
            .released(710, "c2", 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn release_that_overlaps_the_next_grant_may_have_freed_the_lock() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(15, "c2")
            .releases(20, "c1")
            .granted(25, "c2")
            .released(30, "c1", 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn late_delete_removes_next_holders_key() {
        let looks = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .releases(20, "c1")
            .tries(500, "c2")
            .granted(510, "c2");
        let deletes = |builder: HistoryBuilder| builder.deletes(600, "c1").released(610, "c1", 1);
        assert!(deletes(looks).violates(ForeignRelease));
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .releases(20, "c1")
            .deletes(25, "c1")
            .tries(30, "c2")
            .granted(510, "c2")
            .released(610, "c1", 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn overlapping_calls_may_have_been_served_in_any_order() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .tries(5, "c2")
            .granted(10, "c1")
            .granted(20, "c2")
            .releases(30, "c1")
            .released(40, "c1", 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn own_later_grant_is_not_foreign() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(500, "c1")
            .granted(510, "c1")
            .releases_grant(600, "c1", 1)
            .released_grant(610, "c1", 1, 1)
            .expect_holds(ForeignRelease);
    }

    #[test]
    fn other_client_is_found_behind_own_later_grant() {
        taken_over()
            .tries(520, "c1")
            .granted(530, "c1")
            .releases_grant(600, "c1", 1)
            .released_grant(610, "c1", 1, 1)
            .expect_violation_at(ForeignRelease, 610);
    }

    /// The client's lease was over, and it took the lock again with the same value.
    #[test]
    fn releasing_a_lapsed_grant_deletes_own_newer_one() {
        let again = |lease_ms| {
            HistoryBuilder::default()
                .tries(0, "c1")
                .holds_for(10, "c1", Wall, lease_ms)
                .tries(500, "c2")
                .granted(510, "c2")
                .releases(520, "c2")
                .released(525, "c2", 1)
                .tries(530, "c1")
                .holds_for(540, "c1", Wall, 100)
        };
        let released = |builder: HistoryBuilder| {
            builder
                .releases_grant(600, "c1", 1)
                .released_grant(610, "c1", 1, 1)
        };
        released(again(100)).expect_holds(ForeignRelease);
        // c3 has followed c1's newer grant too.
        let followed = again(100).tries(550, "c3").granted(560, "c3");
        released(followed).expect_violation_at(ForeignRelease, 610);
        // A grant within another shows nothing about the key.
        released(again(900)).expect_violation_at(ForeignRelease, 610);
    }

    /// All within a nanosecond: c1's lease of no length, c2's grant, and c1's newer one.
    #[test]
    fn a_lease_of_no_length_is_over_when_it_begins() {
        let both = HistoryBuilder::default()
            .tries(0, "c1")
            .holds_for(10, "c1", Wall, 0)
            .tries(10, "c2")
            .granted(10, "c2");
        let deletes = |builder: HistoryBuilder| {
            builder
                .releases_grant(20, "c1", 1)
                .released_grant(30, "c1", 1, 1)
        };
        let newer = both.clone().tries(10, "c1").granted(10, "c1");
        deletes(newer).expect_holds(ForeignRelease);
        deletes(both).expect_violation_at(ForeignRelease, 30);
    }

    /// A second task of c1 asks within the lease of the first, and is granted the lock when c2
    /// has been. That grant may have stood on the first one's key.
    #[test]
    fn a_grant_asked_for_within_the_lease_makes_no_key_ones_own() {
        let both_ask = || {
            HistoryBuilder::default()
                .tries(5, "c1")
                .holds_for(10, "c1", Wall, 100)
                .tries(50, "c2")
                .tries(60, "c1")
        };
        let deletes = |builder: HistoryBuilder| {
            builder
                .deletes(140, "c1")
                .released_grant(150, "c1", 1, 1)
                .releases(160, "c1")
        };
        let told = |granted_ms| {
            format!(
                "c1, granted the lock at 10.0 ms, released it at 150.0 ms and deleted a lock that \
                 was not its own any more: c2 had been granted it at {granted_ms}.0 ms"
            )
        };
        let in_order = both_ask()
            .granted(115, "c2")
            .releases_grant(120, "c1", 1)
            .granted(130, "c1");
        deletes(in_order).expect_violated(ForeignRelease, (150, 150), &told(115));
        let told_late = both_ask()
            .releases_grant(112, "c1", 1)
            .granted(115, "c1")
            .granted(130, "c2");
        deletes(told_late).expect_violated(ForeignRelease, (150, 150), &told(130));
    }

    #[test]
    fn several_nodes_are_inconclusive() {
        taken_over()
            .on_nodes(5)
            .releases(600, "c1")
            .released(610, "c1", 5)
            .expect_inconclusive(
                ForeignRelease,
                "the owner of a deleted key is known on one node only",
            );
    }
}
