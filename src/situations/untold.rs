//! *untold-grant*: the servers hold the lock for a client whose attempt failed, because their replies were
//! lost, or came too late, or because the client died.

use locklab_history::leases::End;
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Name, Op, Outcome};
use locklab_truth::Holding;

use crate::holders::Holders;

/// Whether a client began to hold the lock by the servers during an attempt that did not succeed.
pub(super) fn is_grant_untold(timeline: &Timeline, holders: &Holders) -> bool {
    let failed = failed_attempts(timeline);
    let all = holders.holdings();
    let mut is_untold = false;
    holders.each_grant(&mut |holding| {
        let is_during = |attempt: &Attempt| {
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

/// A call of `acquire` that did not succeed.
struct Attempt<'a> {
    client: &'a Name,
    from_ns: u64,
    to_ns: u64,
}

/// The attempts that failed, or that their client did not survive.
fn failed_attempts<'a>(timeline: &Timeline<'a>) -> Vec<Attempt<'a>> {
    let mut called_ns: Vec<Option<u64>> = vec![None; timeline.hosts];
    let mut failed = Vec::new();
    for (_, host, record) in timeline.records() {
        let has_failed = match record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                called_ns[host] = Some(record.at_ns);
                continue;
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => outcome != Outcome::Ok,
            ref event if event.is_death() => true,
            _ => continue,
        };
        if let Some(from_ns) = called_ns[host].take()
            && has_failed
        {
            failed.push(Attempt {
                client: &record.host,
                from_ns,
                to_ns: record.at_ns,
            });
        }
    }
    failed
}
