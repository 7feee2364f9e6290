//! *deadlock* by the nodes: a client asks in vain although the nodes hold the lock for nobody that
//! relies on it.
//!
//! At each true time the lock has a *rightful holder*, or none: a client that relies on its grant
//! (it was told, has not called release, lives, and its deadline is ahead by its own clock) and for
//! whom the nodes hold the lock. Otherwise the key is held by nobody alive: for a client that died,
//! forgot it, or is past its deadline, for several of which none has enough nodes, or for nobody at
//! all. The lock is *stuck* over a period longer than the bound in which it has no rightful holder
//! and one client requests it all the time: from its first call of `acquire` until it is granted the
//! lock, gives up or dies, as in the check.
//!
//! What must agree:
//!
//! - If the history is violated over a period, the lock has no rightful holder at any time in it.
//!   Otherwise the check counts a lock as free that the nodes held for a client which relied on it.
//! - If the lock is stuck and no fault is the excuse, the history does not hold. Here *no fault* is
//!   simpler than the rule of the check, and stricter: the period begins after the last effect of
//!   any fault but those of other clients' processes.
//!
//! What may differ, by its nature: the history alone counts a lock as taken while a client without
//! deadline believes in it, though the nodes may have lost it. Then nobody need get it either, and
//! if somebody does not for longer than the bound, that is a difference.

use locklab_check::{Bounds, Ms, Verdict};
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, Name, Op, Phase, Symptom};

use crate::holdings::{Holdings, is_client};

/// What the nodes show that contradicts the verdict.
pub(super) fn contradiction(
    timeline: &Timeline,
    holdings: &Holdings,
    verdict: &Verdict,
    bounds: &Bounds,
) -> Option<String> {
    let rightful = rightful(timeline, holdings);
    match verdict {
        Verdict::Violated(violation) => {
            // The wait began at least one bound before.
            let from_ns = violation.at_ns.saturating_sub(bounds.deadlock_ns);
            let held = (rightful.iter())
                .find(|it| it.from_ns < violation.until_ns && it.to_ns > from_ns)?;
            Some(format!(
                "from {} to {} the nodes held the lock for {}, which relied on it",
                Ms(held.from_ns),
                Ms(held.to_ns),
                held.client,
            ))
        }
        Verdict::Inconclusive { .. } => None,
        Verdict::Holds => {
            let stuck = stuck(timeline, &rightful, bounds)?;
            Some(format!(
                "violated: {} asked for the lock from {} to {}, and the nodes held it for nobody \
                 that relied on it",
                stuck.client,
                Ms(stuck.from_ns),
                Ms(stuck.to_ns),
            ))
        }
    }
}

/// A period of true time, in nanoseconds, and the client that it is about.
#[derive(Debug, Clone, Copy)]
struct Period<'h> {
    client: &'h Name,
    from_ns: u64,
    to_ns: u64,
}

/// When the lock has a rightful holder, in the order of the beginnings.
fn rightful<'h>(timeline: &Timeline<'h>, holdings: &Holdings) -> Vec<Period<'h>> {
    let changes = holdings.changes_ns();
    let mut periods = Vec::new();
    for grant in &timeline.grants {
        let (begins_ns, lapses_ns) = (grant.begins_ns, grant.lapses_ns);
        if begins_ns >= lapses_ns {
            continue;
        }
        let mut cuts = vec![begins_ns];
        cuts.extend(changes.range(begins_ns + 1..lapses_ns));
        cuts.push(lapses_ns);
        let parts = cuts
            .windows(2)
            .filter(|part| holdings.is_held(grant.client, part[0]));
        periods.extend(parts.map(|part| Period {
            client: grant.client,
            from_ns: part[0],
            to_ns: part[1],
        }));
    }
    periods.sort_by_key(|period| period.from_ns);
    periods
}

/// The first period in which the lock is stuck without any excuse.
fn stuck<'h>(timeline: &Timeline<'h>, rightful: &[Period], bounds: &Bounds) -> Option<Period<'h>> {
    asked(timeline).into_iter().find_map(|asked| {
        let mut from_ns = asked
            .from_ns
            .max(healed_ns(timeline, asked.client, bounds)?);
        let inside = rightful.iter().filter(|it| it.to_ns > from_ns);
        for held in inside.collect::<Vec<_>>() {
            if held.from_ns >= from_ns.saturating_add(bounds.deadlock_ns) {
                break;
            }
            from_ns = from_ns.max(held.to_ns);
        }
        let next = rightful.iter().find(|it| it.from_ns >= from_ns);
        let to_ns = next.map_or(asked.to_ns, |next| next.from_ns.min(asked.to_ns));
        (to_ns > from_ns.saturating_add(bounds.deadlock_ns)).then_some(Period {
            client: asked.client,
            from_ns,
            to_ns,
        })
    })
}

/// When each client requested the lock: from its first call of `acquire` until it was granted the lock, gave
/// up or died; if it was refused and did not ask again, until then.
fn asked<'h>(timeline: &Timeline<'h>) -> Vec<Period<'h>> {
    let mut all: Vec<Period> = Vec::new();
    // Per host: the period in which it requests the lock.
    let mut open: Vec<Option<usize>> = vec![None; timeline.hosts];
    for (index, host, record) in timeline.records() {
        let at_ns = record.at_ns;
        let is_over = match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                open[host].get_or_insert_with(|| {
                    all.push(Period {
                        client: &record.host,
                        from_ns: at_ns,
                        to_ns: timeline.end_ns,
                    });
                    all.len() - 1
                });
                false
            }
            Event::Complete {
                op: Op::Acquire, ..
            } => !timeline.asks_again(index),
            // It was granted the lock.
            Event::BeliefBegins { .. } => true,
            event => event.is_reached(Failpoint::GivingUp) || event.is_death(),
        };
        if is_over && let Some(place) = open[host].take() {
            all[place].to_ns = at_ns;
        }
    }
    all
}

/// When the last fault that may delay this client has no effect any more; `None`: never. After a
/// silence of packets the next transmission comes within the same time again and a second.
fn healed_ns(timeline: &Timeline, client: &Name, bounds: &Bounds) -> Option<u64> {
    let mut first_ns = None;
    let mut open: Vec<(&Name, &Name)> = Vec::new();
    let mut last_ns = 0;
    for record in timeline.all_records() {
        let Event::Fault {
            fault,
            kind,
            phase,
            links,
        } = &record.event
        else {
            continue;
        };
        // The lock must survive what strikes the processes of other clients.
        let of_other = record.host != *client && is_client(&record.host);
        if links.is_none() && of_other {
            continue;
        }
        match phase {
            Phase::Begins => {
                first_ns.get_or_insert(record.at_ns);
                last_ns = record.at_ns;
                // A connection that was reset can be made again at once.
                if kind.symptom() != Symptom::Broken {
                    open.push((fault, &record.host));
                }
            }
            Phase::Ends => {
                last_ns = record.at_ns;
                open.retain(|it| *it != (fault, &record.host));
            }
            Phase::Before | Phase::Missed => {}
        }
    }
    if !open.is_empty() {
        return None;
    }
    let Some(first_ns) = first_ns else {
        return Some(0);
    };
    const SECOND_NS: u64 = 1_000_000_000;
    Some(last_ns + (last_ns - first_ns) + SECOND_NS + bounds.time_outs_ns)
}
