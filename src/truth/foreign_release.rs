//! *foreign-release* by the nodes: a client takes the lock from another one that holds it.
//!
//! Let client B hold the lock by the nodes just before true time t. A request of another client A,
//! executed by one of these nodes at t, deletes the node's entry for B, and now fewer nodes than the
//! lock needs hold it for B. (With one node, that node held it for B; of Redlock's five, the third
//! of three.) The covered locks delete nothing but to give a lock back, so the request is a release:
//! A's own, or what A sends after an attempt that failed. Entries that expire, are overwritten,
//! evicted by the node, or lost with its process were not released by anybody.
//!
//! What must agree, where the history is judged (one node):
//!
//! - If the history is violated, so it is by the nodes, by the same client A and no later.
//!   Otherwise the check accuses an innocent client.
//! - If it is violated by the nodes, and the history shows it, the history is violated by then. The
//!   history *shows* it if before A sent the release, B had been told of a grant that it had asked
//!   for after A's last; and A was told that its release had deleted something.
//!
//! - A release reports no more deletions than the nodes made for it: while the client was in the
//!   call, nodes deleted at least so many entries at its request. Otherwise the node's reply, or the
//!   record, is wrong. (It may report fewer: a reply was lost.)
//!
//! What may differ, by its nature: the history does not show a removal if B's reply was still under
//! way when A sent its release, or A's reply never came. No client can know then whose entry it was.
//! With several nodes, nobody's reply says whose entry was deleted on how many of them.

use locklab_check::{Bounds, Ms, Verdict};
use locklab_history::leases::End;
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Failpoint, Name, Op};

use crate::holdings::{Holding, Holdings, is_client};

/// A release that took the lock from another client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// True time of the deletion, in nanoseconds since the run began.
    pub at_ns: u64,
    /// The client that released.
    pub by: Name,
    /// The client that held the lock.
    pub from: Name,
    /// The node whose entry was the last that was needed.
    pub node: Name,
}

impl Removal {
    /// The removal in a sentence.
    pub fn what(&self) -> String {
        let Removal { by, from, node, .. } = self;
        let at = Ms(self.at_ns);
        format!("{by} deleted at {at} on {node} the lock that {from} held")
    }
}

/// The first removal of a run.
pub(super) fn first(holdings: &Holdings) -> Option<Removal> {
    removals(holdings).min_by_key(|removal| removal.at_ns)
}

fn removals<'h>(holdings: &'h Holdings) -> impl Iterator<Item = Removal> + 'h {
    holdings.all.iter().filter_map(|it| {
        let by = it.ended_by.filter(|_| it.end == End::Deleted)?;
        let (at_ns, before_ns) = (it.until_ns, it.until_ns.checked_sub(1)?);
        let is_lost = holdings.is_held(it.client, before_ns) && !is_kept(holdings, it);
        (by != it.client && is_client(by) && is_lost).then(|| Removal {
            at_ns,
            by: by.clone(),
            from: it.client.clone(),
            node: it.node.clone(),
        })
    })
}

/// Whether enough servers hold the lock for the client of this holding when it ends. A copy on
/// another server that a server deletes later counts as deleted: the master propagates the deletion
/// to its replicas.
fn is_kept(holdings: &Holdings, ended: &Holding) -> bool {
    let at_ns = ended.until_ns;
    let is_copy =
        |it: &&Holding| it.end == End::Deleted && it.ended_by.is_some_and(|by| !is_client(by));
    let copies = holdings.at(ended.client, at_ns).filter(is_copy).count();
    holdings.count(ended.client, at_ns) - copies >= holdings.rule.need
}

/// What the nodes show that contradicts the verdict.
pub(super) fn contradiction(
    timeline: &Timeline,
    holdings: &Holdings,
    verdict: &Verdict,
    bounds: &Bounds,
) -> Option<String> {
    let wrong = misreported(timeline, holdings);
    if wrong.is_some() {
        return wrong;
    }
    if let Verdict::Violated(violation) = verdict {
        let mut removals = removals(holdings);
        let [accused, _] = &violation.clients[..] else {
            return Some("the violation does not name two clients".to_owned());
        };
        let is_right = removals.any(|it| it.by == *accused && it.at_ns <= violation.at_ns);
        return (!is_right).then(|| {
            let at = Ms(violation.at_ns);
            format!("until {at}, {accused} deleted no lock that another client held")
        });
    }
    if bounds.nodes != 1 {
        return None;
    }
    let shown = removals(holdings).find(|removal| is_shown(timeline, removal))?;
    Some(format!("violated: {}", shown.what()))
}

/// The first release that reports more deletions than the nodes made.
fn misreported(timeline: &Timeline, holdings: &Holdings) -> Option<String> {
    // Per host: when it called release.
    let mut called_ns = vec![0; timeline.hosts];
    timeline.records().find_map(|(_, host, record)| {
        let at_ns = record.at_ns;
        match record.event {
            Event::Invoke {
                op: Op::Release, ..
            } => called_ns[host] = at_ns,
            Event::Released { removed, .. } => {
                let made = holdings.all.iter().filter(|it| {
                    it.end == End::Deleted
                        && it.ended_by == Some(&record.host)
                        && (called_ns[host]..=at_ns).contains(&it.until_ns)
                });
                let made = made.count();
                return (made < removed as usize).then(|| {
                    format!(
                        "{} was told at {} that it had deleted {removed}, and the nodes deleted \
                         {made} for it",
                        record.host,
                        Ms(at_ns),
                    )
                });
            }
            _ => {}
        }
        None
    })
}

/// Whether the history shows this removal.
fn is_shown(timeline: &Timeline, removal: &Removal) -> bool {
    let Some(sent) = sending(timeline, removal) else {
        return false;
    };
    let own = timeline.grants.iter().filter(|it| it.client == &removal.by);
    let Some(last) = own.filter(|it| it.began < sent).max_by_key(|it| it.began) else {
        return false;
    };
    let is_later = |grant: &&Grant| {
        grant.client == &removal.from
            && grant.excludes(last)
            && grant.asked > Some(last.began)
            && grant.began < sent
    };
    timeline.grants.iter().any(|it| is_later(&it)) && is_told(timeline, sent, &removal.by)
}

/// The index of the record with which the releasing client was about to send its command.
fn sending(timeline: &Timeline, removal: &Removal) -> Option<usize> {
    let records = timeline.all_records();
    let until = records.partition_point(|record| record.at_ns <= removal.at_ns);
    let is_sending = |event: &Event| {
        matches!(
            event,
            Event::Invoke {
                op: Op::Release,
                ..
            }
        ) || event.is_reached(Failpoint::Deleting)
    };
    let own = |index: &usize| records[*index].host == removal.by;
    (0..until)
        .rev()
        .filter(own)
        .find(|index| is_sending(&records[*index].event))
}

/// Whether the client learned from this release that it had deleted something.
fn is_told(timeline: &Timeline, sent: usize, client: &Name) -> bool {
    let mut own = timeline.all_records()[sent..]
        .iter()
        .filter(|it| it.host == *client);
    let released = own.find(|record| {
        let is_over = |event: &Event| {
            matches!(
                event,
                Event::Complete {
                    op: Op::Release,
                    ..
                }
            ) || event.is_death()
        };
        matches!(record.event, Event::Released { .. }) || is_over(&record.event)
    });
    // The reply is recorded directly after the completion.
    let told = released.map(|first| &first.event);
    match told {
        Some(Event::Complete { .. }) => own
            .next()
            .is_some_and(|next| matches!(next.event, Event::Released { removed: 1.., .. })),
        Some(Event::Released { removed, .. }) => *removed > 0,
        _ => false,
    }
}
