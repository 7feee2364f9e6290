//! *untold-grant*: the servers hold the lock for a client whose attempt failed, because their replies were
//! lost, or came too late, or because the client died.

use locklab_history::leases::End;
use locklab_history::timeline::Timeline;
use locklab_history::{Op, Outcome};
use locklab_truth::Holding;

use crate::calls::{Call, CallEnd, calls};
use crate::holders::Holders;

/// Whether a client began to hold the lock by the servers during an attempt that did not succeed.
pub(super) fn is_grant_untold(timeline: &Timeline, holders: &Holders) -> bool {
    let mut failed = calls(timeline, Op::Acquire);
    failed.retain(has_failed);
    let all = holders.holdings();
    let mut is_untold = false;
    holders.each_grant(&mut |holding| {
        let is_during = |attempt: &Call| {
            attempt.client == holding.client
                && attempt.from_ns <= holding.from_ns
                && holding.from_ns <= attempt.to_ns
        };
        is_untold |= failed.iter().any(is_during) && !is_read_back(all, holding);
    });
    is_untold
}

/// Whether the server has read this entry from its file: it was granted before, and the last entry that the
/// server lost with its process was the same client's.
fn is_read_back(all: &[Holding], holding: &Holding) -> bool {
    let is_before = |it: &&Holding| it.node == holding.node && it.until_ns <= holding.from_ns;
    let before = all.iter().filter(is_before).max_by_key(|it| it.until_ns);
    before.is_some_and(|it| it.end == End::Lost && it.client == holding.client)
}

/// Whether a call that should have taken the lock failed, or its client did not survive it.
fn has_failed(attempt: &Call) -> bool {
    !matches!(attempt.end, CallEnd::Open | CallEnd::Returned(Outcome::Ok))
}
