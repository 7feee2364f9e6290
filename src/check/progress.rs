//! The resource rejects no access of a rightful holder.
//!
//! It is violated by an access that was refused although
//!
//! - its grant was within its lease by its client's own clock (without deadline: not yet
//!   released) when the request arrived, and
//! - no other client's later grant had overtaken it.
//!
//! Grants are ordered by the time at which `acquire` returned, so a client whose call returned
//! later than the writer's has overtaken the writer. A grant may also be later although its
//! call returned earlier, if its call of `acquire` overlapped the writer's call: a reply can be
//! delayed in a paused client while the lock passes on. Of such a pair the grant with the
//! higher token counts as the later one. But a client whose call returned before the writer
//! even asked is not later, regardless of its token: tokens issued in another order than the grants
//! (by nodes that lost some, or counted separately) make a resource refuse a rightful holder,
//! and this property detects that. Readers overtake no readers. A client's own later grant is
//! no excuse: a client that works under two grants holds the lock rightfully under both.
//!
//! A resource that never accepted anything refuses every client, rightful or not, and violates
//! this too. A run without any access proves nothing. An access under a grant that the history
//! does not contain counts as an attempt, and is not judged otherwise.

use super::{Ms, Verdict, Violation};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Name, Record};

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let mut has_accepted = false;
    let mut refusals: Vec<(&Record, &Name)> = Vec::new();
    for (index, _, record) in timeline.records() {
        let Event::Access {
            client,
            grant,
            access,
            accepted,
            ..
        } = &record.event
        else {
            continue;
        };
        has_accepted |= accepted;
        if *accepted {
            continue;
        }
        refusals.push((record, client));
        let held = timeline
            .stretches((client, *grant))
            .find(|held| held.began < index && record.at_ns < held.lapses_ns);
        if let Some(held) = held
            && !is_overtaken(timeline, held, index)
        {
            let access = access.name();
            return Verdict::Violated(Violation {
                at_ns: record.at_ns,
                until_ns: record.at_ns,
                clients: vec![client.clone()],
                what: format!(
                    "the resource refused {client}'s {access} at {} though {client}, granted the \
                     lock at {}, could rely on it until {} and no other client had followed",
                    Ms(record.at_ns),
                    Ms(held.begins_ns),
                    Ms(held.lapses_ns),
                ),
            });
        }
    }
    match (has_accepted, refusals.first(), refusals.last()) {
        (true, ..) => Verdict::Holds,
        (false, Some((first, client)), Some((last, _))) => Verdict::Violated(Violation {
            at_ns: first.at_ns,
            until_ns: last.at_ns,
            clients: vec![(*client).clone()],
            what: format!(
                "the resource accepted nothing, of {} that were tried from {} on",
                refusals.len(),
                Ms(first.at_ns)
            ),
        }),
        (false, ..) => Verdict::Inconclusive {
            why: "no client accessed the resource".into(),
        },
    }
}

/// Whether another client had been granted the lock after this grant when the record at `index`
/// came.
fn is_overtaken(timeline: &Timeline, held: &Grant, index: usize) -> bool {
    let told = timeline
        .grants
        .iter()
        .take_while(|other| other.began < index);
    told.into_iter().any(|other| {
        let told_later = other.began > held.began;
        let asked = held.asked.unwrap_or(held.began);
        let given_later = other.began > asked && other.token > held.token;
        other.excludes(held) && (told_later || given_later)
    })
}

#[cfg(test)]
mod tests {
    use crate::Property::Progress;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::ClockKind::Wall;

    /// c1 holds the lock from 10 ms on and writes; it releases it at 30 ms. c2 holds it from 50
    /// ms on.
    fn in_turn(first: u64, second: u64) -> HistoryBuilder {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", first)
            .writes(20, "c1", 0)
            .releases(30, "c1")
            .tries(40, "c2")
            .granted_with_token(50, "c2", second)
    }

    #[test]
    fn everybody_served_holds() {
        in_turn(33, 34).writes(60, "c2", 1).expect_holds(Progress);
    }

    #[test]
    fn refusing_the_only_holder_is_violated_whatever_its_token() {
        for second in [32, 33, 34] {
            in_turn(33, second).refused_writing(60, "c2", 1).expect_violated(
                Progress,
                (60, 60),
                "the resource refused c2's write at 60.0 ms though c2, granted the lock at 50.0 \
                 ms, could rely on it until 60.0 ms and no other client had followed",
            );
        }
    }

    #[test]
    fn refusing_an_overtaken_or_expired_client_holds() {
        let followed = HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 33)
            .tries(20, "c2")
            .granted_with_token(30, "c2", 34)
            .writes(40, "c2", 0);
        followed.refused_writing(50, "c1", 0).expect_holds(Progress);
        let without_tokens = HistoryBuilder::default().holds(10, "c1").holds(30, "c2");
        without_tokens
            .writes(40, "c2", 0)
            .refused_writing(50, "c1", 0)
            .expect_holds(Progress);
        let alone = |written_ms| {
            HistoryBuilder::default()
                .reads(5, "c2", 0)
                .holds_for(10, "c1", Wall, 100)
                .refused_writing(written_ms, "c1", 0)
        };
        alone(110).expect_holds(Progress);
        alone(109).expect_violation_at(Progress, 109);
    }

    #[test]
    fn a_lease_that_was_prolonged_when_it_was_over_counts_again() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 20)
            .writes(20, "c1", 0)
            .prolongs(40, "c1", Wall, 20)
            .refused_writing(50, "c1", 1)
            .expect_violation_at(Progress, 50);
    }

    /// c1 is granted the lock first, but its reply arrives after c2 was granted the lock.
    #[test]
    fn of_overlapping_calls_the_lower_token_was_overtaken() {
        let told_late = |late, early| {
            HistoryBuilder::default()
                .tries(0, "c1")
                .tries(1, "c2")
                .granted_with_token(10, "c2", early)
                .writes(11, "c2", 0)
                .granted_with_token(20, "c1", late)
                .refused_writing(30, "c1", 0)
        };
        told_late(33, 34).expect_holds(Progress);
        told_late(34, 33).expect_violation_at(Progress, 30);
        told_late(33, 33).expect_violation_at(Progress, 30);
    }

    #[test]
    fn own_later_grant_excuses_nothing() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 33)
            .tries(20, "c1")
            .granted_with_token(30, "c1", 34)
            .writes(40, "c1", 0)
            .refused_writing_under(50, "c1", 1, 1)
            .expect_violation_at(Progress, 50);
    }

    #[test]
    fn resource_that_accepts_nothing_is_violated_and_unused_one_is_inconclusive() {
        let late = || HistoryBuilder::default().holds_for(10, "c1", Wall, 20);
        late()
            .refused_writing(40, "c1", 0)
            .refused_writing(50, "c1", 0)
            .expect_violated(
                Progress,
                (40, 50),
                "the resource accepted nothing, of 2 that were tried from 40.0 ms on",
            );
        HistoryBuilder::default()
            .tries(0, "c1")
            .tries(0, "c2")
            .expect_inconclusive(Progress, "no client accessed the resource");
    }
}
