//! *foreign-key-met*: a request of a client's call of `release` reached a server that held the lock for
//! another client, and not for this one. Whether it deleted the entry is another matter.

use locklab_history::timeline::Timeline;
use locklab_history::{Op, Visit};
use locklab_truth::Holding;

use crate::calls::calls;
use crate::holders::Holders;

/// Whether a release met another client's key.
pub(super) fn is_foreign_key_met(timeline: &Timeline, holders: &Holders, visits: &[Visit]) -> bool {
    let all = holders.holdings();
    calls(timeline, Op::Release).iter().any(|release| {
        let first = visits.partition_point(|visit| visit.at_ns < release.from_ns);
        let during = visits[first..].iter();
        let during = during.take_while(|visit| visit.at_ns <= release.to_ns);
        let mut own = during.filter(|visit| visit.by == *release.client);
        own.any(|visit| {
            let is_found = |it: &&Holding| {
                let is_there = it.from_ns < visit.at_ns && visit.at_ns < it.until_ns;
                // This request may have deleted it.
                let is_taken = it.until_ns == visit.at_ns && it.ended_by == Some(&visit.by);
                it.node == &visit.node && (is_there || is_taken)
            };
            let is_own = |it: &Holding| it.client == release.client;
            let mut found = all.iter().filter(is_found).peekable();
            found.peek().is_some() && !found.any(is_own)
        })
    })
}
