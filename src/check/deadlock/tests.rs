//! Which waits are violations, which clients a fault excuses, and for how long.

use super::retransmission_ns;
use crate::Property::{Availability, Deadlock};
use crate::history_builder::{HistoryBuilder, MS};
use locklab_history::ClockKind::Wall;
use locklab_history::PacketFault::{self, Cut};

const TOO_SHORT: &str = "no wait for the free lock began early enough to exceed its bound";

/// The bound is 1000 ms.
fn builder() -> HistoryBuilder {
    HistoryBuilder::default().deadlock_after(1000)
}

/// Two other clients contend now, so that the run is conclusive.
fn contended(builder: HistoryBuilder) -> HistoryBuilder {
    let asked = builder.tries(60, "c8").tries(60, "c9");
    asked.fails(60, "c8").fails(60, "c9")
}

/// c2 tries every 200 ms from the first time to the last; each attempt takes 10 ms.
fn tries_on(mut builder: HistoryBuilder, from_ms: u64, to_ms: u64) -> HistoryBuilder {
    for at_ms in (from_ms..=to_ms).step_by(200) {
        builder = builder.tries(at_ms, "c2").fails(at_ms + 10, "c2");
    }
    builder
}

#[test]
fn manual_failover_excuses_nothing() {
    let held = tries_on(builder().holds(10, "c1"), 20, 20);
    let failed_over = held.fault_begins(100, "s1", "failover");
    let orphaned = failed_over.fault_begins(200, "c1", "kill");
    tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
        Deadlock,
        (1_200, 2_030),
        "c2 tried in vain to acquire the lock from 200.0 ms to 2030.0 ms although no client held it",
    );
}

/// A client whose connection breaks, or that of its server, waits for its own timeouts.
#[test]
fn a_reset_excuses_the_timeouts_of_a_client() {
    for (host, from_ms) in [("c2", 500), ("n1", 500), ("c1", 100)] {
        let held = tries_on(builder().times_out_after(400).holds(10, "c1"), 20, 20);
        let orphaned = held.fault_begins(100, "c1", "kill");
        let reset = orphaned.fault_begins(100, host, "reset");
        tries_on(reset, 120, 2_020).ends(9_000).expect_violated(
            Deadlock,
            (from_ms + 1_000, 1_930),
            &format!(
                "c2 tried in vain to acquire the lock from {from_ms}.0 ms to 1930.0 ms although no client \
                 held it"
            ),
        );
    }
}

#[test]
fn trying_while_another_holds_the_lock_holds() {
    let builder = tries_on(builder().holds(10, "c1"), 20, 5_020).releases(5_100, "c1");
    builder.expect_inconclusive(Deadlock, TOO_SHORT);
}

#[test]
fn trying_for_longer_than_the_bound_with_no_holder_is_violated() {
    let held = tries_on(builder().holds(10, "c1"), 20, 20);
    let orphaned = held.fault_begins(100, "c1", "kill");
    tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
        Deadlock,
        (1_100, 2_030),
        "c2 tried in vain to acquire the lock from 100.0 ms to 2030.0 ms although no client held it",
    );
}

#[test]
fn wait_of_exactly_the_bound_holds() {
    // c2 tries from 20 ms on and fails for the last time at 1020 or 1021 ms.
    let dead = || builder().holds(10, "c1").fault_begins(20, "c1", "kill");
    tries_on(dead(), 20, 820)
        .tries(1_000, "c2")
        .fails(1_020, "c2")
        .expect_inconclusive(Deadlock, TOO_SHORT);
    tries_on(dead(), 20, 820)
        .tries(1_000, "c2")
        .fails(1_021, "c2")
        .expect_violation_at(Deadlock, 1_020);
}

#[test]
fn giving_up_and_coming_back_later_starts_afresh() {
    let builder = tries_on(builder(), 0, 800).gives_up(810, "c2");
    tries_on(builder, 820, 1_620).expect_inconclusive(Deadlock, TOO_SHORT);
}

/// A bound shorter than the wait between two attempts ends no request.
#[test]
fn a_client_requests_the_lock_between_its_attempts() {
    let polls = || builder().tries(0, "c2").fails(10, "c2").tries(1_500, "c2");
    for bound_ms in [50, 100, 1_000, 1_499] {
        let polls = polls().deadlock_after(bound_ms).fails(1_510, "c2");
        polls.expect_violation_at(Deadlock, bound_ms);
    }
    // Nor does a fault of its server that is over before the next attempt.
    let paused = builder().tries(0, "c2").fails(10, "c2");
    let paused = paused
        .fault_begins(20, "n1", "pause")
        .fault_ends(30, "n1", "pause")
        .tries(1_500, "c2");
    paused.expect_violation_at(Deadlock, 1_030);
    let dead = polls().fails(1_510, "c2").fault_begins(1_520, "c2", "kill");
    dead.tries(2_500, "c2").fails(2_510, "c2").expect_violated(
        Deadlock,
        (1_000, 1_510),
        "c2 tried in vain to acquire the lock from 0.0 ms to 1510.0 ms although no client held it",
    );
}

#[test]
fn a_call_that_does_not_return_is_still_trying() {
    builder()
        .holds(10, "c1")
        .tries(20, "c2")
        .releases(50, "c1")
        .ends(1_051)
        .expect_violated(
            Deadlock,
            (1_050, 1_051),
            "c2 tried in vain to acquire the lock from 50.0 ms to 1051.0 ms although no client held it",
        );
}

#[test]
fn free_lock_without_requests_holds() {
    builder()
        .holds(10, "c1")
        .tries(20, "c2")
        .fails(30, "c2")
        .releases(50, "c1")
        .ends(90_000)
        .expect_inconclusive(Deadlock, TOO_SHORT);
}

#[test]
fn former_holder_requests_again_from_its_next_attempt() {
    builder()
        .tries(0, "c1")
        .granted(10, "c1")
        .releases(20, "c1")
        .tries(900, "c1")
        .fails(1_100, "c1")
        .expect_holds(Deadlock);
}

#[test]
fn longer_of_two_holds_counts() {
    let both = builder().holds(0, "c1").holds(10, "c3").releases(15, "c3");
    tries_on(both, 20, 1_820)
        .releases(1_900, "c1")
        .expect_inconclusive(Deadlock, TOO_SHORT);
}

#[test]
fn a_dead_client_wants_nothing() {
    builder()
        .holds(10, "c1")
        .tries(20, "c2")
        .fault_begins(40, "c2", "crash")
        .releases(50, "c1")
        .ends(90_000)
        .expect_inconclusive(Deadlock, TOO_SHORT);
    // After its return it is no longer in its call.
    builder()
        .holds(10, "c1")
        .tries(20, "c2")
        .fault_begins(40, "c2", "kill")
        .releases(50, "c1")
        .fault_ends(60, "c2", "kill")
        .ends(90_000)
        .expect_inconclusive(Deadlock, TOO_SHORT);
}

#[test]
fn a_holder_that_is_cut_off_holds_the_lock_to_the_end_of_its_lease() {
    let held = tries_on(builder().holds_for(10, "c1", Wall, 500), 20, 20);
    let cut_off = held.fault_begins(100, "c1", "partition");
    tries_on(cut_off, 220, 1_620).expect_violated(
        Deadlock,
        (1_510, 1_630),
        "c2 tried in vain to acquire the lock from 510.0 ms to 1630.0 ms although no client held it",
    );
}

/// c2 asks at 20 ms and gets no reply; c1 releases the lock at 50 ms. The fault follows.
fn unanswered() -> HistoryBuilder {
    builder().holds(10, "c1").tries(20, "c2").releases(50, "c1")
}

/// The inconclusive verdict if c2 waits from 50 ms until the run ends.
fn inconclusive_reason(end_ms: u64) -> String {
    format!(
        "c2 tried in vain to acquire the lock from 50.0 ms to {end_ms}.0 ms although no client held \
         it; a fault may be the cause"
    )
}

const SLOW: PacketFault = PacketFault::Slow { extra_ns: MS };

#[test]
fn paused_client_requests_nothing_and_then_starts_a_new_wait() {
    for kind in ["pause", "suspend"] {
        for property in [Deadlock, Availability] {
            let until = |ends_ms| {
                let stopped = unanswered().fault_begins(60, "c2", kind);
                stopped.fault_ends(4_000, "c2", kind).ends(ends_ms)
            };
            until(5_000).expect_inconclusive(property, TOO_SHORT);
            until(5_001).expect_violation_at(property, 5_000);
        }
    }
}

#[test]
fn silent_server_excuses_a_deadlock_until_it_answers_but_not_availability() {
    let until = |ends_ms| {
        let silent = unanswered().fault_begins(60, "n1", "pause");
        silent.fault_ends(4_000, "n1", "pause").ends(ends_ms)
    };
    until(5_001).expect_violation_at(Deadlock, 5_000);
    until(5_000).expect_violation_at(Availability, 1_050);
    // The node has replied within the bound; or the run ended before it could.
    let answered = unanswered().fault_begins(60, "n1", "pause");
    answered
        .fault_ends(4_000, "n1", "pause")
        .granted(5_000, "c2")
        .expect_holds(Deadlock);
    let told = inconclusive_reason(5_000);
    let silent = contended(unanswered().fault_begins(60, "n1", "pause"));
    let ended = silent.fault_ends(4_000, "n1", "pause").ends(5_000);
    ended.expect_inconclusive(Deadlock, &told);
}

#[test]
fn a_server_that_stays_away_shows_nothing_but_that_the_lock_is_not_available() {
    for kind in ["pause", "kill", "crash"] {
        let away = || contended(unanswered().fault_begins(60, "n1", kind)).ends(9_000);
        away().expect_inconclusive(Deadlock, &inconclusive_reason(9_000));
        away().expect_violation_at(Availability, 1_050);
    }
}

#[test]
fn the_resource_excuses_only_if_tokens_come_from_it() {
    let away = |builder: HistoryBuilder| {
        contended(builder.fault_begins(60, "resource", "crash")).ends(9_000)
    };
    away(unanswered()).expect_violation_at(Deadlock, 1_050);
    away(unanswered().with_tokens_of_the_resource())
        .expect_inconclusive(Deadlock, &inconclusive_reason(9_000));
}

#[test]
fn slow_link_extends_the_bound_of_affected_clients_by_its_delay() {
    // Ten round trips, each 2 ms longer.
    for (sides, deadlock_ms, availability_ms) in [
        (["c2", "n1"], 1_070, 1_070),
        (["n1", "c2"], 1_070, 1_070),
        (["n1", "n1r1"], 1_070, 1_050),
        (["c1", "n1"], 1_050, 1_050),
        (["resource", "n1"], 1_050, 1_050),
        (["resource", "c2"], 1_050, 1_050),
    ] {
        let slow = unanswered().links_fail(60, "slow", sides, SLOW).ends(9_000);
        slow.expect_violation_at(Deadlock, deadlock_ms);
        slow.expect_violation_at(Availability, availability_ms);
    }
    // One direction of each round trip.
    for sides in [["c2", "n1"], ["n1", "c2"]] {
        let slow = unanswered().one_way_fails(60, "slow", sides, SLOW);
        slow.ends(9_000).expect_violation_at(Deadlock, 1_060);
    }
    let lifted = unanswered().links_fail(60, "slow", ["c2", "n1"], SLOW);
    let lifted = lifted.links_heal(70, "slow", ["c2", "n1"], SLOW);
    lifted
        .clone()
        .ends(9_000)
        .expect_violation_at(Deadlock, 1_070);
    // A later request of c2 is not late.
    let asks_anew = lifted.fails(80, "c2").gives_up(80, "c2").tries(90, "c2");
    asks_anew.ends(9_000).expect_violation_at(Deadlock, 1_090);
}

#[test]
fn link_slower_than_the_timeout_counts_as_cut() {
    let slow = |slack_ms| {
        let patient = unanswered().patient_for(slack_ms);
        contended(patient.links_fail(60, "slow", ["c2", "n1"], SLOW)).ends(9_000)
    };
    slow(2).expect_violation_at(Deadlock, 1_070);
    slow(1).expect_inconclusive(Deadlock, &inconclusive_reason(9_000));
}

#[test]
fn cut_link_excuses_the_disconnected_client() {
    let cut = |sides| contended(unanswered().links_fail(60, "cut", sides, Cut)).ends(9_000);
    let told = inconclusive_reason(9_000);
    cut(["c2", "n1"]).expect_inconclusive(Deadlock, &told);
    cut(["c2", "n1"]).expect_inconclusive(Availability, &told);
    cut(["n1", "n1r1"]).expect_inconclusive(Deadlock, &told);
    cut(["n1", "n1r1"]).expect_violation_at(Availability, 1_050);
    for sides in [
        ["c1", "n1"],
        ["c2", "c1"],
        ["c2", "resource"],
        ["n1", "resource"],
    ] {
        cut(sides).expect_violation_at(Deadlock, 1_050);
    }
}

#[test]
fn each_of_several_faults_excuses_its_clients_until_it_ends() {
    let told = inconclusive_reason(9_000);
    let cut = |builder: HistoryBuilder| builder.links_fail(60, "cut", ["c2", "n1"], Cut);
    let beside_another = cut(unanswered().links_fail(55, "slow", ["c1", "n1"], SLOW));
    contended(beside_another)
        .ends(9_000)
        .expect_inconclusive(Deadlock, &told);
    let another_ends = cut(unanswered()).fault_begins(60, "c1", "pause");
    contended(another_ends)
        .fault_ends(80, "c1", "pause")
        .ends(9_000)
        .expect_inconclusive(Deadlock, &told);
}

#[test]
fn cut_without_recorded_links_may_be_anywhere() {
    let cut = |host| contended(unanswered().fault_begins(60, host, "partition")).ends(9_000);
    cut("c2").expect_inconclusive(Deadlock, &inconclusive_reason(9_000));
    cut("n1").expect_inconclusive(Deadlock, &inconclusive_reason(9_000));
    cut("c1").expect_violation_at(Deadlock, 1_050);
}

#[test]
fn silences_without_retransmission_between_them_count_as_one() {
    let lost = |from_ms, to_ms| {
        let builder = builder()
            .holds(10, "c1")
            .releases(50, "c1")
            .tries(100, "c2");
        let builder = builder.links_fail(100, "cut", ["c2", "n1"], Cut);
        let builder = builder.links_heal(600, "cut", ["c2", "n1"], Cut);
        let builder = builder.fault_begins(from_ms, "n1", "crash");
        builder.fault_ends(to_ms, "n1", "crash").ends(9_000)
    };
    // Packets lost from 100 ms on are retransmitted by 2100 ms. With a second silence before that,
    // up to 2200 ms, both count as one of 2100 ms, and every packet has been retransmitted by 5300
    // ms.
    lost(2_099, 2_200).expect_violation_at(Deadlock, 6_300);
    // From 2100 ms on it is one of 100 ms.
    lost(2_100, 2_200).expect_violation_at(Deadlock, 4_300);
    // A silence that begins within another extends it: every packet has been retransmitted by 6500
    // ms.
    let builder = builder()
        .holds(10, "c1")
        .releases(50, "c1")
        .tries(100, "c2");
    let builder = builder.links_fail(100, "cut", ["c2", "n1"], Cut);
    let builder = builder.fault_begins(500, "n1", "crash");
    let builder = builder.links_heal(600, "cut", ["c2", "n1"], Cut);
    let builder = builder.fault_ends(2_800, "n1", "crash").ends(9_000);
    builder.expect_violation_at(Deadlock, 7_500);
}

#[test]
fn lost_packet_arrives_within_the_outage_duration_again_plus_a_second() {
    // Lost from 100 to 600 ms, retransmitted by 2100 ms.
    let lost = |end: fn(HistoryBuilder) -> HistoryBuilder| {
        let builder = builder()
            .holds(10, "c1")
            .releases(50, "c1")
            .tries(100, "c2");
        end(builder).ends(9_000)
    };
    let cut = |builder: HistoryBuilder| {
        let builder = builder.links_fail(100, "cut", ["c2", "n1"], Cut);
        builder.links_heal(600, "cut", ["c2", "n1"], Cut)
    };
    lost(cut).expect_violation_at(Deadlock, 3_100);
    let crash = |builder: HistoryBuilder| {
        let builder = builder.fault_begins(100, "n1", "crash");
        builder.fault_ends(600, "n1", "crash")
    };
    lost(crash).expect_violation_at(Deadlock, 3_100);
    // The kernel of a process that was paused or killed still replies.
    let pause = |builder: HistoryBuilder| {
        let builder = builder.fault_begins(100, "n1", "pause");
        builder.fault_ends(600, "n1", "pause")
    };
    lost(pause).expect_violation_at(Deadlock, 1_600);
    // The client gives up a request that was lost with them, and sends another.
    let given_up = lost(cut).times_out_after(300);
    given_up.expect_violation_at(Deadlock, 3_400);
}

#[test]
fn unanswered_request_is_excused_for_its_timeouts() {
    let silent = unanswered()
        .times_out_after(300)
        .fault_begins(60, "n1", "pause");
    let silent = silent.fault_ends(600, "n1", "pause").ends(9_000);
    silent.expect_violation_at(Deadlock, 1_900);
    silent.expect_violation_at(Availability, 1_350);
}

#[test]
fn lossy_link_extends_the_bound_by_a_one_in_a_million_delay() {
    for (probability, expected_s) in [(0.0, 0), (1e-6, 1), (0.001, 3), (0.01, 7), (0.1, 63)] {
        assert_eq!(
            retransmission_ns(probability),
            expected_s * 1_000 * MS,
            "{probability}"
        );
    }
    assert_eq!(retransmission_ns(1.0), u64::MAX);
    let lossy = |probability| {
        let lossy = PacketFault::Lossy { probability };
        contended(unanswered().links_fail(60, "loss", ["c2", "n1"], lossy)).ends(20_000)
    };
    lossy(0.01).expect_violation_at(Deadlock, 8_050);
    lossy(0.5).expect_inconclusive(Deadlock, &inconclusive_reason(20_000));
}

#[test]
fn faults_of_other_clients_or_clocks_excuse_nothing() {
    for (host, kind) in [("c1", "pause"), ("n1", "clock-step"), ("c2", "clock-rate")] {
        builder()
            .holds(10, "c1")
            .tries(20, "c2")
            .releases(50, "c1")
            .fault_begins(60, host, kind)
            .ends(1_100)
            .expect_violation_at(Deadlock, 1_050);
    }
}

#[test]
fn two_that_take_turns_at_failing_are_each_in_vain() {
    let mut builder = builder();
    for at_ms in (0..1_300).step_by(100) {
        let client = if at_ms % 200 == 0 { "c1" } else { "c2" };
        builder = builder.tries(at_ms, client).fails(at_ms + 50, client);
    }
    builder.expect_violated(
        Deadlock,
        (1_000, 1_250),
        "c1 tried in vain to acquire the lock from 0.0 ms to 1250.0 ms although no client held it",
    );
}

#[test]
fn a_stretch_ends_when_the_lock_is_taken() {
    builder()
        .tries(0, "c1")
        .tries(0, "c2")
        .granted(600, "c2")
        .releases(700, "c2")
        .granted(1_500, "c1")
        .expect_holds(Deadlock);
}

#[test]
fn late_grant_does_not_undo_the_violation() {
    let waited = |granted_ms| {
        let asks = builder().holds(10, "c1").tries(20, "c2").releases(50, "c1");
        asks.granted(granted_ms, "c2").ends(9_000)
    };
    waited(1_050).expect_holds(Deadlock);
    waited(1_051).expect_violated(
        Deadlock,
        (1_050, 1_051),
        "c2 tried in vain to acquire the lock from 50.0 ms to 1051.0 ms although no client held it",
    );
}

#[test]
fn client_waiting_for_its_turn_keeps_requesting_without_attempts() {
    let refused = || builder().holds(10, "c1").tries(20, "c2").fails(30, "c2");
    let waits = refused().waits(40, "c2").releases(50, "c1").ends(9_000);
    waits.expect_violation_at(Deadlock, 1_050);
    // A client that gives up, or does not wait, no longer requests the lock.
    let gives_up = refused()
        .waits(40, "c2")
        .releases(50, "c1")
        .gives_up(60, "c2");
    gives_up
        .ends(9_000)
        .expect_inconclusive(Deadlock, TOO_SHORT);
    let leaves = refused().releases(50, "c1").ends(9_000);
    leaves.expect_inconclusive(Deadlock, TOO_SHORT);
}
