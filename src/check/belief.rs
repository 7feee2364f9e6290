//! Belief from the return of `acquire` to the call of `release`.
//!
//! A belief without release lasts to the end of the history, or to the death of its client: a
//! process that was killed, or whose machine crashed, believes nothing. Two grants of one
//! client may overlap; that is not a second holder.

use super::{Verdict, overlap};
use locklab_history::timeline::Timeline;

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let overlap = overlap::first(timeline, |grant| grant.ends_ns);
    let violation = overlap.map(|overlap| {
        overlap.violation(format!(
            "{} was granted the lock at {} while {}, granted it at {}, had not released it",
            overlap.later.client,
            timeline.at(overlap.at_ns),
            overlap.earlier.client,
            timeline.at(overlap.earlier.begins_ns),
        ))
    });
    violation.into()
}

#[cfg(test)]
mod tests {
    use crate::Property::Belief;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::ClockKind::Wall;

    #[test]
    fn consecutive_beliefs_hold() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .releases(50, "c1")
            .holds(60, "c2")
            .releases(70, "c2")
            .expect_holds(Belief);
    }

    #[test]
    fn overlap_is_violated_from_second_grant_to_first_release() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(40, "c2")
            .releases(50, "c1")
            .releases(70, "c2")
            .expect_violated(
                Belief,
                (40, 50),
                "c2 was granted the lock at 40.0 ms while c1, granted it at 10.0 ms, had not \
                 released it",
            );
    }

    #[test]
    fn release_and_grant_at_one_instant_do_not_overlap() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(50, "c2")
            .releases(50, "c1")
            .releases(70, "c2")
            .expect_holds(Belief);
    }

    #[test]
    fn a_belief_of_no_duration_overlaps_nothing() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(20, "c2")
            .releases(20, "c2")
            .releases(50, "c1")
            .expect_holds(Belief);
    }

    #[test]
    fn two_grants_of_one_client_are_one_holder() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(20, "c1")
            .releases_grant(50, "c1", 1)
            .releases_grant(60, "c1", 2)
            .expect_holds(Belief);
    }

    #[test]
    fn readers_may_overlap_readers_but_no_writer() {
        let readers = HistoryBuilder::default()
            .granted_to_read(10, "c1")
            .granted_to_read(20, "c2")
            .releases(30, "c2");
        readers
            .clone()
            .releases(40, "c1")
            .holds(50, "c3")
            .expect_holds(Belief);
        readers
            .holds(35, "c3")
            .releases(40, "c1")
            .expect_violation_at(Belief, 35);
        HistoryBuilder::default()
            .holds(10, "c1")
            .granted_to_read(20, "c2")
            .expect_violation_at(Belief, 20);
    }

    /// A holder that outlives its lease continues to believe: this distinguishes `belief` from `lease`.
    #[test]
    fn a_lease_ends_no_belief() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 20)
            .holds(40, "c2")
            .releases(50, "c1")
            .expect_violation_at(Belief, 40);
    }

    #[test]
    fn longest_of_several_overlapped_beliefs_is_named() {
        HistoryBuilder::default()
            .granted_to_read(10, "c1")
            .granted_to_read(20, "c2")
            .holds(30, "c3")
            .releases(40, "c1")
            .releases(60, "c2")
            .expect_violated(
                Belief,
                (30, 60),
                "c3 was granted the lock at 30.0 ms while c2, granted it at 20.0 ms, had not \
                 released it",
            );
    }

    #[test]
    fn the_longer_of_two_earlier_grants_counts() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(20, "c1")
            .releases_grant(30, "c1", 2)
            .holds(40, "c2")
            .releases_grant(50, "c1", 1)
            .expect_violation_at(Belief, 40);
    }

    #[test]
    fn belief_without_release_lasts_to_the_end() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(90, "c2")
            .ends(100)
            .expect_violated(
                Belief,
                (90, 100),
                "c2 was granted the lock at 90.0 ms while c1, granted it at 10.0 ms, had not \
                 released it",
            );
    }

    #[test]
    fn a_killed_or_crashed_client_believes_nothing() {
        for kind in ["kill", "crash"] {
            HistoryBuilder::default()
                .holds(10, "c1")
                .fault_begins(30, "c1", kind)
                .holds(40, "c2")
                .expect_holds(Belief);
        }
    }

    #[test]
    fn a_paused_client_still_believes_and_so_do_the_clients_of_a_crashed_node() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .fault_begins(20, "c1", "pause")
            .fault_begins(30, "n1", "crash")
            .holds(40, "c2")
            .expect_violation_at(Belief, 40);
    }
}
