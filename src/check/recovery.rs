//! Once all faults are over, the lock works again.
//!
//! All faults of the run have ended, and their consequences (a lease, a failover, a packet that TCP
//! retransmits later) have had [`Bounds::settle_ns`] to pass. From then on nothing excuses a wait:
//! the rule of [`deadlock`](super::deadlock) applies to the later part of each wait. So a lock that
//! no client can take any more violates this for whatever reason, and a lock that is slow only
//! during faults does not.
//!
//! A run whose faults never end proves nothing, nor does one that ends before a wait could have
//! exceeded its bound, or in which no client was granted the lock in this time.

use super::{Bounds, Verdict, deadlock};
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Phase, Span};

/// Judges the time from `settle_ns` after the end of the last fault.
pub(super) fn check(timeline: &Timeline, bounds: &Bounds, settle_ns: u64) -> Verdict {
    let Some(healed_ns) = healed_ns(timeline) else {
        return inconclusive("a fault never ended");
    };
    let from_ns = healed_ns.saturating_add(settle_ns);
    if timeline.end_ns < from_ns.saturating_add(bounds.deadlock_ns) {
        return inconclusive("the run ended too soon after its last fault");
    }
    if let Some(wait) = deadlock::first_unexcused(timeline, bounds, from_ns) {
        return Verdict::Violated(wait);
    }
    let mut grants = timeline.grants.iter();
    match grants.any(|grant| grant.begins_ns >= from_ns) {
        true => Verdict::Holds,
        false => inconclusive("no client was granted the lock after the last fault"),
    }
}

fn inconclusive(why: &str) -> Verdict {
    Verdict::Inconclusive { why: why.into() }
}

/// The end of the last fault: 0 without faults, and `None` if one never ends. A process that never
/// restarts does not count as a lasting fault: the remaining hosts have to work without it.
pub(super) fn healed_ns(timeline: &Timeline) -> Option<u64> {
    let mut in_effect = 0_u64;
    let mut healed_ns = 0;
    for (_, _, record) in timeline.records() {
        let Event::Fault { kind, phase, .. } = &record.event else {
            continue;
        };
        match phase {
            Phase::Begins if kind.span() == Span::Lasting => in_effect += 1,
            Phase::Ends if kind.span() == Span::Lasting => in_effect = in_effect.saturating_sub(1),
            Phase::Begins | Phase::Ends => {}
            Phase::Before | Phase::Missed => continue,
        }
        healed_ns = record.at_ns;
    }
    (in_effect == 0).then_some(healed_ns)
}
