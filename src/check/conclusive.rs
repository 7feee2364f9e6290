//! Whether a run could have shown a violation at all.
//!
//! A run is no evidence if its fault never took effect or met no client, if its clients never contended while
//! the fault mattered, or if its lock lacks an operation that a client requested: such a run could not
//! have violated any property.
//!
//! A repeated fault (`NAME#1`, `NAME#2`, …) took effect if one instance did. [`Effects`] says whom a fault met,
//! and until when it mattered.
//!
//! Clients contend while one requests the lock and another holds or requests it too. A client
//! requests the lock from its first attempt until it is granted the lock, gives up or dies, and
//! holds it until its release has returned. A client that has died still counts, because the lock
//! it held or requested outlives it.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, History, Op, Outcome, Phase, Record};

use locklab_vecmap::VecSet;

use super::effects::Effects;

/// The reason why this history proves nothing about a property that holds in it; `None` if it is
/// conclusive.
pub(super) fn doubt(timeline: &Timeline, effects: &Effects) -> Option<String> {
    missed(timeline)
        .or_else(|| unsupported(timeline))
        .or_else(|| effects.is_idle().then(|| IDLE.to_owned()))
        .or_else(|| uncontended(timeline, effects))
}

const IDLE: &str = "no fault met a client that used the lock";

/// Whether every fault of the run took effect, each at least once if it repeats.
pub fn struck(history: &History) -> bool {
    missed_in(&history.records).is_none()
}

/// The doubt if a fault never took effect.
pub(super) fn missed(timeline: &Timeline) -> Option<String> {
    missed_in(timeline.all_records())
}

fn missed_in(records: &[Record]) -> Option<String> {
    let (mut began, mut missed) = (VecSet::new(), VecSet::new());
    for record in records {
        match &record.event {
            Event::Fault {
                fault,
                phase: Phase::Begins,
                ..
            } => began.insert(repeated(fault)),
            Event::Fault {
                fault,
                phase: Phase::Missed,
                ..
            } => missed.insert(repeated(fault)),
            _ => false,
        };
    }
    let fault = missed.difference(&began).next()?;
    Some(format!("fault {fault} never took effect"))
}

/// The doubt if the lock does not support an operation that a client requested: then the run
/// differs from the scenario.
fn unsupported(timeline: &Timeline) -> Option<String> {
    let mut records = timeline.all_records().iter();
    records.find_map(|record| match &record.event {
        Event::Complete {
            outcome: Outcome::Unsupported,
            detail,
            ..
        } => Some(detail.clone()),
        _ => None,
    })
}

/// The name that a scenario gives to a fault, without the number of its instance.
fn repeated(fault: &str) -> &str {
    match fault.rsplit_once('#') {
        Some((name, number)) if number.parse::<u32>().is_ok() => name,
        _ => fault,
    }
}

/// The doubt if the clients never contended while a fault mattered.
fn uncontended(timeline: &Timeline, effects: &Effects) -> Option<String> {
    let mut clients: Vec<Client> = Vec::new();
    clients.resize_with(timeline.hosts, Client::default);
    let mut ever = false;
    // How many clients request the lock, and how many request or hold it.
    let (mut wanting, mut active) = (0, 0);
    for (index, host, record) in timeline.records() {
        let client = &mut clients[host];
        let before = (client.wants, client.wants || client.has);
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => client.wants = true,
            Event::Complete {
                op: Op::Acquire, ..
            } => client.wants = timeline.asks_again(index),
            event if event.is_reached(Failpoint::GivingUp) => client.wants = false,
            Event::Invoke {
                op: Op::Release, ..
            } => client.releases = true,
            Event::Complete {
                op: Op::Release, ..
            } => client.releases = false,
            event if event.is_death() => {
                let had = timeline.believed(host, index).next().is_some();
                client.left |= client.wants || client.releases || had;
                (client.wants, client.releases) = (false, false);
            }
            Event::Fault { .. } | Event::BeliefBegins { .. } | Event::BeliefEnds { .. } => {}
            _ => continue,
        }
        // Only this client has changed.
        let believes = timeline.believed(host, index + 1).next().is_some();
        client.has = client.releases || client.left || believes;
        wanting += usize::from(client.wants);
        wanting -= usize::from(before.0);
        active += usize::from(client.wants || client.has);
        active -= usize::from(before.1);
        if wanting > 0 && active > 1 {
            ever = true;
            if effects.matter_at(index, record.at_ns) {
                return None;
            }
        }
    }
    Some(match ever {
        true => "the lock was never contended where a fault could matter".into(),
        false => "the lock was never contended".into(),
    })
}

#[derive(Default)]
struct Client {
    /// Whether it has requested the lock and continues to.
    wants: bool,
    /// Whether it is in a call of `release`.
    releases: bool,
    /// Whether it died while it requested or held the lock.
    left: bool,
    /// Whether it holds the lock, or may have died holding it.
    has: bool,
}

#[cfg(test)]
mod tests {
    use crate::Property;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::timeline::Timeline;

    const UNCONTENDED: &str = "the lock was never contended";
    const IDLE: &str = super::IDLE;
    const TOO_EARLY: &str = "the lock was never contended where a fault could matter";

    fn check(builder: HistoryBuilder, expected: Option<&str>) {
        let bounds = *builder.bounds();
        let history = builder.history();
        let timeline = Timeline::of(&history);
        let doubt = super::doubt(&timeline, &super::Effects::of(&timeline, &bounds));
        assert_eq!(doubt.as_deref(), expected);
    }

    #[test]
    fn trying_while_another_holds_the_lock_is_contention() {
        let builder = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c2")
            .fails(30, "c2")
            .reads(30, "c1", 0);
        check(builder, None);
    }

    #[test]
    fn unsupported_operation_makes_the_run_inconclusive() {
        let builder = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c2")
            .fails(30, "c2")
            .reads(30, "c1", 0)
            .cannot_extend(40, "c1");
        check(builder, Some("this lock does not support extend"));
    }

    #[test]
    fn two_calls_that_overlap_are_contention() {
        let builder = HistoryBuilder::default()
            .tries(0, "c1")
            .tries(5, "c2")
            .fails(10, "c1")
            .fails(10, "c2")
            .reads(10, "c1", 0);
        check(builder, None);
    }

    #[test]
    fn one_after_the_other_or_alone_is_none() {
        let builder = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c1")
            .fails(30, "c1")
            .releases(40, "c1")
            .released(50, "c1", 1)
            .tries(50, "c2")
            .granted(60, "c2")
            .reads(60, "c2", 0);
        check(builder, Some(UNCONTENDED));
        check(
            HistoryBuilder::default().reads(0, "c1", 0),
            Some(UNCONTENDED),
        );
    }

    #[test]
    fn lock_of_a_dead_holder_is_contended() {
        let then_c2 = |builder: HistoryBuilder| {
            let dead = builder.fault_begins(30, "c1", "crash");
            dead.tries(40, "c2").granted(50, "c2").reads(55, "c2", 0)
        };
        check(
            then_c2(HistoryBuilder::default().tries(0, "c1").granted(10, "c1")),
            None,
        );
        check(then_c2(HistoryBuilder::default().tries(20, "c1")), None);
        let released = HistoryBuilder::default().tries(0, "c1").granted(10, "c1");
        let released = released.releases(15, "c1").released(20, "c1", 1);
        check(then_c2(released), Some(IDLE));
    }

    #[test]
    fn meeting_before_the_fault_shows_nothing_of_it() {
        let met = || {
            HistoryBuilder::default()
                .tries(0, "c1")
                .tries(0, "c2")
                .fails(5, "c1")
                .fails(5, "c2")
        };
        let paused = |at_ms| met().fault_begins(at_ms, "c1", "pause").reads(100, "c1", 0);
        check(paused(5), Some(IDLE));
        let n1 = met().fault_begins(5, "n1", "crash").tries(50, "c1");
        check(n1.fails(60, "c1"), Some(TOO_EARLY));
        // c2 keeps trying.
        let asks_on = met().tries(6, "c1").tries(6, "c2");
        check(
            asks_on
                .fault_begins(10, "c1", "pause")
                .reads(100, "c1", 0)
                .fails(110, "c2"),
            None,
        );
    }

    #[test]
    fn a_release_under_way_and_a_waiter_between_its_attempts_meet() {
        let releasing = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(5, "c1")
            .tries(6, "c2");
        let releasing = releasing
            .fails(8, "c2")
            .reads(9, "c1", 0)
            .releases(10, "c1");
        let paused = releasing.fault_begins(11, "n1", "pause");
        check(paused.clone(), Some(TOO_EARLY));
        check(paused.clone().tries(20, "c2"), None);
        check(paused.gives_up(15, "c2").tries(20, "c2"), None);
        // Its release has returned, and no other client is active.
        let over = HistoryBuilder::default()
            .tries(0, "c1")
            .granted(5, "c1")
            .reads(6, "c1", 0);
        let over = over.tries(6, "c2").releases(7, "c1").released(8, "c1", 1);
        check(over.fault_begins(9, "n1", "pause"), Some(TOO_EARLY));
    }

    /// The fault begins while c1 releases the lock and c2 is between two attempts. c2's next
    /// one comes when the release has returned.
    #[test]
    fn between_two_attempts_a_client_asks_on() {
        let refused = || {
            let held = HistoryBuilder::default().tries(0, "c1").granted(5, "c1");
            held.reads(6, "c1", 0).tries(6, "c2").fails(8, "c2")
        };
        let on = |host, builder: HistoryBuilder| {
            let paused = builder.releases(10, "c1").fault_begins(11, host, "pause");
            paused.released(12, "c1", 1)
        };
        // Only the release is in a call to the server, and only c2 was paused.
        for (host, alone) in [("n1", TOO_EARLY), ("c2", IDLE)] {
            check(on(host, refused()).tries(20, "c2"), None);
            check(on(host, refused()).waits(20, "c2"), None);
            check(on(host, refused()), Some(alone));
            let gave_up = on(host, refused()).gives_up(15, "c2");
            check(gave_up.tries(20, "c2"), Some(TOO_EARLY));
            let gave_up = on(host, refused().waits(9, "c2").gives_up(9, "c2"));
            check(gave_up.tries(20, "c2"), Some(TOO_EARLY));
        }
        // Its request ended with the refused attempt.
        let dead = refused().fault_begins(9, "c2", "kill");
        let dead = dead.releases(10, "c1").released(12, "c1", 1);
        let asks = dead.tries(20, "c3").fails(21, "c3").tries(30, "c2");
        check(asks, Some(TOO_EARLY));
    }

    #[test]
    fn fault_matters_to_clients_until_their_interrupted_request_or_hold_ends() {
        // c1's wait has lasted since the fault; c2 arrives long after that.
        let found = || {
            let struck = HistoryBuilder::default().deadlock_after(100).tries(0, "c1");
            struck
                .fault_begins(5, "n1", "pause")
                .fault_ends(10, "n1", "pause")
        };
        let then_c2 = |builder: HistoryBuilder| builder.tries(500, "c2").reads(500, "c2", 0);
        let asks_again = found().fails(20, "c1").tries(90, "c1");
        check(then_c2(asks_again.granted(100, "c1")), None);
        check(then_c2(found().granted(20, "c1")), None);
        let alone = then_c2(found().fails(20, "c1").gives_up(20, "c1"));
        check(alone.tries(550, "c1"), Some(TOO_EARLY));
    }

    #[test]
    fn a_fault_matters_until_the_bound_after_its_end() {
        // The bound is 1000 ms.
        let met = |at_ms, kind| {
            HistoryBuilder::default()
                .deadlock_after(1_000)
                .tries(5, "c1")
                .fault_begins(10, "n1", kind)
                .fault_ends(20, "n1", kind)
                .fails(30, "c1")
                .gives_up(30, "c1")
                .tries(at_ms, "c1")
                .tries(at_ms, "c2")
                .reads(at_ms, "c2", 0)
        };
        check(met(1_020, "pause"), None);
        check(met(1_021, "pause"), Some(TOO_EARLY));
        // A node that lost its memory has lost it for good.
        check(met(1_021, "crash"), None);
    }

    #[test]
    fn repeated_fault_began_if_it_began_once() {
        let met = || {
            HistoryBuilder::default()
                .tries(0, "c1")
                .tries(0, "c2")
                .reads(1, "c1", 0)
        };
        let once = met()
            .fault_named_begins(5, "n1", "gc#2")
            .fault_missed(100, "n1", "gc#1");
        assert!(super::struck(&once.clone().history()));
        check(once, None);
        let never = met()
            .fault_missed(100, "n1", "gc#1")
            .fault_missed(100, "n1", "gc#2");
        assert!(!super::struck(&never.clone().history()));
        check(never, Some("fault gc never took effect"));
        // The other fault is another one.
        let other = met()
            .fault_named_begins(5, "n1", "gd#1")
            .fault_missed(100, "n1", "gc#1");
        check(other, Some("fault gc never took effect"));
        // The text behind the `#` is not the number of an instance.
        let named = met()
            .fault_named_begins(5, "n1", "gc#of-c2")
            .fault_missed(100, "n1", "gc#of-c1");
        check(named, Some("fault gc#of-c1 never took effect"));
    }

    #[test]
    fn fault_that_never_began_makes_holds_inconclusive() {
        let builder = HistoryBuilder::default()
            .tries(0, "c1")
            .tries(5, "c2")
            .reads(10, "c1", 0)
            .fault_missed(100, "c1", "gc");
        check(builder, Some("fault gc never took effect"));
    }

    #[test]
    fn violation_is_conclusive_whatever_is_in_doubt() {
        let builder = HistoryBuilder::default()
            .holds(10, "c1")
            .holds(20, "c2")
            .fault_missed(100, "c1", "gc");
        builder.expect_violation_at(Property::Belief, 20);
        builder.expect_inconclusive(Property::LostUpdate, "fault gc never took effect");
    }
}
