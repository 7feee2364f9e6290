//! *foreign-key-met*: a request of a client's call of `release` reached a server that held the lock for
//! another client, and not for this one. Whether it deleted the entry is another matter.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Name, Op, Visit};
use locklab_truth::Holding;

use crate::holders::Holders;

/// Whether a release met another client's key.
pub(super) fn is_foreign_key_met(timeline: &Timeline, holders: &Holders, visits: &[Visit]) -> bool {
    let all = holders.holdings();
    releases(timeline).iter().any(|release| {
        let first = visits.partition_point(|visit| visit.at_ns < release.from_ns);
        let during = visits[first..].iter();
        let mut during = during.take_while(|visit| visit.at_ns <= release.to_ns);
        during.any(|visit| {
            let is_found = |it: &&Holding| {
                let is_there = it.from_ns < visit.at_ns && visit.at_ns < it.until_ns;
                // This request may have deleted it.
                let is_taken = it.until_ns == visit.at_ns && it.ended_by == Some(&visit.by);
                it.node == &visit.node && (is_there || is_taken)
            };
            let is_own = |it: &Holding| it.client == release.client;
            let found: Vec<&Holding> = match visit.by == *release.client {
                true => all.iter().filter(is_found).collect(),
                false => return false,
            };
            !found.is_empty() && !found.into_iter().any(is_own)
        })
    })
}

/// A call of `release`, until it returned or its client died.
struct Release<'a> {
    client: &'a Name,
    from_ns: u64,
    to_ns: u64,
}

fn releases<'a>(timeline: &Timeline<'a>) -> Vec<Release<'a>> {
    let mut called: Vec<Option<usize>> = vec![None; timeline.hosts];
    let mut releases: Vec<Release> = Vec::new();
    for (_, host, record) in timeline.records() {
        match record.event {
            Event::Invoke {
                op: Op::Release, ..
            } => {
                called[host] = Some(releases.len());
                releases.push(Release {
                    client: &record.host,
                    from_ns: record.at_ns,
                    to_ns: timeline.end_ns,
                });
            }
            Event::Complete {
                op: Op::Release, ..
            } => {
                if let Some(release) = called[host].take() {
                    releases[release].to_ns = record.at_ns;
                }
            }
            ref event if event.is_death() => {
                if let Some(release) = called[host].take() {
                    releases[release].to_ns = record.at_ns;
                }
            }
            _ => {}
        }
    }
    releases
}
