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
