//! *lease* by the nodes: a client relies on the lock while the nodes hold it for another one.
//!
//! A client *relies* on its grant from the reply up to the earlier of its call of release and the
//! deadline by its own clock. This is not on the nodes, so here equality with the history is not the
//! definition; what must hold instead, in every run:
//!
//! 1. *A grant stands on the nodes.* Between a client's request and its reply, each of enough nodes
//!    held the lock for it (not necessarily all at once). Otherwise the client believes something
//!    that no node said: the lock, or the record, is wrong.
//! 2. *Two cannot both stand on them.* Where the history is violated by A and B, at that time the
//!    nodes do not hold the lock for both, if any two quorums have a node in common. So every
//!    violation is a grant that is relied upon although the nodes no longer hold it: it expired by
//!    their clocks, was deleted, or was lost. Otherwise the node, or the record, is wrong.
//! 3. *What the nodes confirm is violated.* If A relies on its grant at a time at which B relies on
//!    one of its own, and the nodes hold the lock for B, then the history is violated, by then.
//!
//! 4. *Who gave it back does not rely on it.* Where the history is violated by A and B, neither had
//!    the nodes delete its own entry since its grant began. Otherwise the record of its release is
//!    missing.
//!
//! The converse of 3 is not required: when B's entry is gone as well, two clients rely on a lock
//! that the nodes hold for neither.

use locklab_check::{Ms, Verdict};
use locklab_history::Event;
use locklab_history::leases::End;
use locklab_history::timeline::{Grant, Timeline};

use crate::holdings::Holdings;

/// What the nodes show that contradicts the verdict.
pub(super) fn contradiction(
    timeline: &Timeline,
    holdings: &Holdings,
    verdict: &Verdict,
) -> Option<String> {
    groundless(timeline, holdings)
        .or_else(|| both_stand(holdings, verdict))
        .or_else(|| given_back(timeline, holdings, verdict))
        .or_else(|| confirmed(timeline, holdings, verdict))
}

/// Rule 1.
fn groundless(timeline: &Timeline, holdings: &Holdings) -> Option<String> {
    let records = timeline.all_records();
    let mut grants = timeline.grants.iter();
    let found = grants.find(|grant| {
        let Some(asked) = grant.asked else {
            return false;
        };
        let is_new = matches!(records[grant.began].event, Event::BeliefBegins { .. })
            && timeline.granted(grant.began).is_some();
        // A hold within another may come from a count in the client.
        let is_inner = timeline.believed(grant.host, grant.began).next().is_some();
        let (from_ns, to_ns) = (records[asked].at_ns, grant.begins_ns);
        is_new && !is_inner && !holdings.is_granted_within(grant.client, from_ns, to_ns)
    })?;
    Some(format!(
        "{} was granted the lock at {}, and not enough nodes had held it for {} since it asked",
        found.client,
        Ms(found.begins_ns),
        found.client,
    ))
}

/// Rule 2.
fn both_stand(holdings: &Holdings, verdict: &Verdict) -> Option<String> {
    let Verdict::Violated(violation) = verdict else {
        return None;
    };
    let both = (violation.clients.iter()).all(|it| holdings.is_held(it, violation.at_ns));
    (holdings.rule.intersects && both).then(|| {
        let at = Ms(violation.at_ns);
        format!(
            "at {at} the nodes held the lock for {}",
            violation.clients.join(" and for ")
        )
    })
}

/// Rule 4.
fn given_back(timeline: &Timeline, holdings: &Holdings, verdict: &Verdict) -> Option<String> {
    let Verdict::Violated(violation) = verdict else {
        return None;
    };
    let at_ns = violation.at_ns;
    let relied = timeline.grants.iter().filter(|grant| {
        violation.clients.contains(grant.client)
            && grant.begins_ns <= at_ns
            && at_ns < grant.lapses_ns
    });
    let mut relied = relied.flat_map(|grant| {
        let own = holdings.all.iter().filter(|it| it.client == grant.client);
        own.filter(|it| grant.begins_ns < it.until_ns && it.until_ns < at_ns)
    });
    let given = relied.find(|it| it.end == End::Deleted && it.ended_by == Some(it.client))?;
    Some(format!(
        "{} had deleted its own lock at {} on {}, before {}",
        given.client,
        Ms(given.until_ns),
        given.node,
        Ms(at_ns),
    ))
}

/// Rule 3.
fn confirmed(timeline: &Timeline, holdings: &Holdings, verdict: &Verdict) -> Option<String> {
    let is_by = |at_ns: u64| match verdict {
        Verdict::Violated(violation) => violation.at_ns <= at_ns,
        _ => false,
    };
    let grants = &timeline.grants;
    let pairs = grants
        .iter()
        .enumerate()
        .flat_map(|(place, later)| grants[..place].iter().map(move |earlier| (earlier, later)));
    let together = pairs.filter_map(|(earlier, later)| {
        let from_ns = earlier.begins_ns.max(later.begins_ns);
        let relied = from_ns < earlier.lapses_ns.min(later.lapses_ns);
        (relied && earlier.excludes(later)).then_some((earlier, later, from_ns))
    });
    let mut unseen = together.filter(|(_, _, at_ns)| !is_by(*at_ns));
    let held = |grant: &Grant, at_ns| holdings.is_held(grant.client, at_ns);
    let (earlier, later, at_ns) =
        unseen.find(|(one, other, at_ns)| held(one, *at_ns) || held(other, *at_ns))?;
    Some(format!(
        "violated: at {} {} and {} both relied on the lock, and the nodes held it for {}",
        Ms(at_ns),
        earlier.client,
        later.client,
        if held(later, at_ns) {
            later.client
        } else {
            earlier.client
        },
    ))
}
