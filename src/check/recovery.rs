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

#[cfg(test)]
mod tests {
    use crate::Property::Recovery;
    use crate::history_builder::HistoryBuilder;

    /// The lock settles within 100 ms, and a free one is taken within 50 ms. Two clients contend,
    /// and n1 is silent from 100 to 200 ms.
    fn silenced() -> HistoryBuilder {
        let builder = HistoryBuilder::default()
            .deadlock_after(50)
            .settles_within(100);
        let builder = builder.tries(0, "c1").tries(0, "c2").granted(10, "c1");
        let builder = builder.releases(20, "c1").released(25, "c1", 1);
        builder
            .fault_begins(100, "n1", "pause")
            .fault_ends(200, "n1", "pause")
    }

    #[test]
    fn grant_in_time_after_settling_holds() {
        // c2 has waited since 20 ms; what counts is the part from 300 ms on.
        silenced()
            .granted(350, "c2")
            .releases(360, "c2")
            .ends(400)
            .expect_holds(Recovery);
    }

    #[test]
    fn a_wait_beyond_the_bound_is_a_violation_whatever_began_it() {
        let late = silenced().granted(351, "c2").releases(360, "c2").ends(400);
        late.expect_violated(
            Recovery,
            (350, 351),
            "c2 tried in vain to acquire the lock from 300.0 ms to 351.0 ms although no client \
             held it",
        );
        silenced().ends(1_000).expect_violated(
            Recovery,
            (350, 1_000),
            "c2 tried in vain to acquire the lock from 300.0 ms to 1000.0 ms although no client \
             held it",
        );
    }

    #[test]
    fn a_run_that_ends_too_soon_or_within_a_fault_proves_nothing() {
        let granted = || silenced().granted(310, "c2").releases(320, "c2");
        granted().ends(350).expect_holds(Recovery);
        granted()
            .ends(349)
            .expect_inconclusive(Recovery, "the run ended too soon after its last fault");
        let lasting = granted().fault_begins(330, "n1", "pause");
        lasting
            .ends(1_000)
            .expect_inconclusive(Recovery, "a fault never ended");
        // The end of another fault is not its end.
        let restarted = granted().fault_begins(330, "n1", "pause");
        let restarted = restarted.fault_begins(340, "n2", "kill");
        let restarted = restarted.fault_ends(350, "n2", "kill");
        restarted
            .ends(1_000)
            .expect_inconclusive(Recovery, "a fault never ended");
    }

    #[test]
    fn run_without_requests_after_the_faults_is_inconclusive() {
        let asked = silenced().granted(250, "c2").releases(260, "c2");
        let why = "no client was granted the lock after the last fault";
        asked.ends(1_000).expect_inconclusive(Recovery, why);
    }

    #[test]
    fn momentary_fault_and_permanent_death_count_as_ended() {
        for (host, name) in [("s1", "failover"), ("c1", "kill"), ("n2", "crash")] {
            // The lock has settled at 310 ms now.
            let struck = silenced().fault_begins(210, host, name);
            let granted = struck.granted(360, "c2").releases(370, "c2");
            granted.ends(400).expect_holds(Recovery);
        }
    }
}
