//! No two clients may rely on the lock at once, each until its own clock says that the deadline of its grant has come.
//!
//! A grant's deadline is a reading of one of its client's clocks. The true time of that reading
//! is interpolated between the host's records, between which its clocks are linear; see
//! [`Timeline`]. A grant without deadline is believed in as by `belief`: its user has no reason to
//! stop.
//!
//! Where a clock is stepped back after it has passed the deadline, that alone does not restore
//! belief: a client that does not look has no reason to believe again. A client that looks at its
//! clock before it writes (`check = "deadline"`) and finds the deadline ahead does believe again,
//! from that look on, and rightly so by its own clock: the rule that it follows says that its lease
//! is valid. (A step back *before* the deadline extends belief: the clock had not reached it yet,
//! and a holder that follows the rule continues.)

use super::{Verdict, overlap};
use locklab_history::Failpoint;
use locklab_history::timeline::Timeline;

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let overlap = overlap::first(timeline, |grant| grant.lapses_ns);
    let violation = overlap.map(|overlap| {
        let looked = &timeline.all_records()[overlap.later.began].event;
        let began = match looked.is_reached(Failpoint::Checked) {
            true => "relied on the lock again",
            false => "was granted the lock",
        };
        overlap.violation(format!(
            "{} {} at {} while {}, granted it at {}, could rely on it until {}",
            overlap.later.client,
            began,
            timeline.at(overlap.at_ns),
            overlap.earlier.client,
            timeline.at(overlap.earlier.begins_ns),
            timeline.at(overlap.earlier.lapses_ns),
        ))
    });
    violation.into()
}

#[cfg(test)]
mod tests {
    use crate::Property::{Belief, Lease};
    use crate::history_builder::HistoryBuilder;
    use locklab_history::ClockKind::{Monotonic, Wall};

    #[test]
    fn a_holder_that_outlives_its_lease_breaks_belief_but_not_the_lease() {
        let builder = HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .holds(110, "c2")
            .releases(150, "c1");
        builder.expect_violation_at(Belief, 110);
        builder.expect_holds(Lease);
    }

    #[test]
    fn a_grant_before_the_deadline_violates_the_lease() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .holds(109, "c2")
            .releases(150, "c1")
            .expect_violated(
                Lease,
                (109, 110),
                "c2 was granted the lock at 109.0 ms while c1, granted it at 10.0 ms, could \
                 rely on it until 110.0 ms",
            );
    }

    #[test]
    fn client_without_deadline_keeps_believing() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(900, "c2")
            .expect_violation_at(Lease, 900);
    }

    #[test]
    fn a_release_before_the_deadline_ends_belief() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .releases(20, "c1")
            .holds(21, "c2")
            .expect_holds(Lease);
    }

    #[test]
    fn a_deadline_that_is_over_at_the_grant_gives_nothing() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 0)
            .holds(11, "c2")
            .expect_holds(Lease);
    }

    #[test]
    fn a_step_forward_over_the_deadline_ends_belief_at_that_instant() {
        let builder = |granted_ms| {
            HistoryBuilder::default()
                .holds_for(10, "c1", Wall, 100)
                .steps(50, "c1", 70)
                .holds(granted_ms, "c2")
        };
        builder(50).expect_holds(Lease);
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .holds(49, "c2")
            .steps(50, "c1", 70)
            .expect_violated(
                Lease,
                (49, 50),
                "c2 was granted the lock at 49.0 ms while c1, granted it at 10.0 ms, could \
                 rely on it until 50.0 ms",
            );
    }

    #[test]
    fn a_step_back_before_the_deadline_prolongs_belief() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .steps(50, "c1", -30)
            .holds(139, "c2")
            .expect_violation_at(Lease, 139);
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .steps(50, "c1", -30)
            .holds(140, "c2")
            .expect_holds(Lease);
    }

    #[test]
    fn a_step_back_after_the_deadline_does_not_revive_belief() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .steps(120, "c1", -80)
            .holds(130, "c2")
            .expect_holds(Lease);
    }

    /// By its clock, set back, c1's lease lasts from 140 to 190 ms again.
    #[test]
    fn a_look_that_finds_the_deadline_ahead_revives_belief() {
        let stepped = || {
            HistoryBuilder::default()
                .holds_for(10, "c1", Wall, 100)
                .steps(120, "c1", -80)
        };
        let looked = stepped().holds(130, "c2").looks(140, "c1");
        looked.clone().ends(900).expect_violated(
            Lease,
            (140, 190),
            "c1 relied on the lock again at 140.0 ms while c2, granted it at 130.0 ms, could rely on \
             it until 900.0 ms",
        );
        looked.looks(150, "c1").expect_violation_at(Lease, 140);
        stepped()
            .looks(140, "c1")
            .holds(189, "c2")
            .expect_violation_at(Lease, 189);
        stepped()
            .looks(140, "c1")
            .holds(190, "c2")
            .expect_holds(Lease);
        // What it had found is that its lease is over.
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .holds(130, "c2")
            .looks(140, "c1")
            .expect_holds(Lease);
    }

    #[test]
    fn a_step_of_the_wall_clock_does_not_move_the_monotonic_one() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Monotonic, 100)
            .steps(50, "c1", 1_000)
            .holds(109, "c2")
            .expect_violation_at(Lease, 109);
    }

    #[test]
    fn suspension_stops_the_monotonic_clock_but_not_the_wall_clock() {
        let builder = |clock, granted_ms| {
            HistoryBuilder::default()
                .holds_for(10, "c1", clock, 100)
                .suspends(50, "c1")
                .resumes(150, "c1")
                .holds(granted_ms, "c2")
        };
        builder(Monotonic, 209).expect_violation_at(Lease, 209);
        builder(Monotonic, 210).expect_holds(Lease);
        builder(Wall, 151).expect_holds(Lease);
    }

    #[test]
    fn a_deadline_within_a_suspension_is_reached_there_by_the_wall_clock() {
        let builder = |granted_ms| {
            HistoryBuilder::default()
                .holds_for(10, "c1", Wall, 100)
                .suspends(50, "c1")
                .holds(granted_ms, "c2")
                .resumes(150, "c1")
        };
        builder(109).expect_violation_at(Lease, 109);
        builder(110).expect_holds(Lease);
    }

    #[test]
    fn a_slow_clock_is_late_by_its_rate() {
        // 100 ms at 8/10 of the rate take 125 ms.
        let builder = |granted_ms| {
            HistoryBuilder::default()
                .drifts(0, "c1", -200_000)
                .holds_for(10, "c1", Wall, 100)
                .holds(granted_ms, "c2")
                .drifts(200, "c1", 0)
        };
        builder(134).expect_violated(
            Lease,
            (134, 135),
            "c2 was granted the lock at 134.0 ms while c1, granted it at 10.0 ms, could rely on \
             it until 135.0 ms",
        );
        builder(135).expect_holds(Lease);
    }

    #[test]
    fn a_fast_clock_is_early_by_its_rate() {
        // 100 ms at twice the rate take 50 ms; the other client's clock is right.
        let builder = |granted_ms| {
            HistoryBuilder::default()
                .drifts(0, "c1", 1_000_000)
                .holds_for(10, "c1", Monotonic, 100)
                .holds_for(granted_ms, "c2", Monotonic, 100)
                .drifts(200, "c1", 0)
        };
        builder(59).expect_violation_at(Lease, 59);
        builder(60).expect_holds(Lease);
    }

    #[test]
    fn a_prolonged_lease_counts_to_its_new_deadline() {
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .prolongs(80, "c1", Wall, 100)
            .holds(179, "c2")
            .expect_violation_at(Lease, 179);
        HistoryBuilder::default()
            .holds_for(10, "c1", Wall, 100)
            .prolongs(80, "c1", Wall, 100)
            .holds(180, "c2")
            .expect_holds(Lease);
    }

    #[test]
    fn a_lease_prolonged_too_late_leaves_a_gap() {
        let builder = |granted_ms, deadline_ms| {
            HistoryBuilder::default()
                .holds_for(10, "c1", Wall, 100)
                .holds_for(granted_ms, "c2", Wall, deadline_ms)
                .prolongs(200, "c1", Wall, 100)
        };
        builder(110, 90).expect_holds(Lease);
        builder(110, 91).expect_violation_at(Lease, 200);
    }
}
