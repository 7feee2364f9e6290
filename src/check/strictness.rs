//! A stricter bound never gives fewer violations.
//!
//! Each parameter of a check with an order is in [`looser`] with that order. The others:
//!
//! - [`Bounds::reply_slack_ns`] has none: it decides whether a slow link lengthens the bound or counts as
//!   cut, and either may excuse more than the other.
//! - [`Bounds::horizon_ns`] and [`Bounds::acts_within_ns`] say what a run could have shown. They never change whether a
//!   property is violated.
//! - `belief`, `lease`, `resource` and its parts, `progress`, `fifo` and `acknowledged-lost` have no
//!   parameter.
//!
//! The permits of a semaphore, the number of servers and the budget of the search are parameters of
//! `locklab-judge`, which tests them.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::history_builder::MS;
use super::laws::{asking, attempts};
use super::random::{BOUNDS, histories};
use super::{Bounds, Property, ResourceRole, Verdict, judge};
use locklab_history::History;

/// A change of bounds that forbids less, by an amount: its parameter, and the properties that read it.
type Looser = (&'static str, fn(Bounds, u64) -> Bounds, &'static [Property]);

/// For every parameter with an order.
fn looser() -> [Looser; 6] {
    use Property::{Availability, Deadlock, ForeignRelease, Recovery};
    [
        (
            "deadlock_ns",
            |bounds, by_ns| Bounds {
                deadlock_ns: bounds.deadlock_ns + by_ns,
                ..bounds
            },
            &[Deadlock, Availability, Recovery],
        ),
        (
            "time_outs_ns",
            |bounds, by_ns| Bounds {
                time_outs_ns: bounds.time_outs_ns + by_ns,
                ..bounds
            },
            &[Deadlock, Availability],
        ),
        (
            "round_trips",
            |bounds, by_ns| Bounds {
                round_trips: bounds.round_trips + (by_ns / MS) as u32,
                ..bounds
            },
            &[Deadlock, Availability],
        ),
        (
            "resource",
            |bounds, _| Bounds {
                resource: ResourceRole::GivesTokens,
                ..bounds
            },
            &[Deadlock],
        ),
        (
            "settle_ns",
            |bounds, by_ns| Bounds {
                settle_ns: bounds.settle_ns.map(|settle_ns| settle_ns + by_ns),
                ..bounds
            },
            &[Recovery],
        ),
        (
            "nodes",
            |bounds, by_ns| Bounds {
                nodes: bounds.nodes + (by_ns / MS) as u32,
                ..bounds
            },
            &[ForeignRelease],
        ),
    ]
}

/// When each property is first violated.
fn violated(history: &History, bounds: &Bounds) -> Vec<(Property, Option<u64>)> {
    let judged = judge(history, bounds).into_iter();
    let first = judged.map(|(property, verdict)| match verdict {
        Verdict::Violated(violation) => (property, Some(violation.at_ns)),
        _ => (property, None),
    });
    first.collect()
}

/// Of clients that do anything, or that ask for the lock again and again.
fn any_histories() -> impl Strategy<Value = History> {
    let asking = [attempts(), attempts()].prop_map(|clients| asking(&clients).history());
    prop_oneof![histories(), asking]
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (1..60_u64, 0..20_u64, 0..6_u32, 0..30_u64).prop_map(|(bound, time_outs, trips, settle)| {
        Bounds {
            deadlock_ns: bound * MS,
            time_outs_ns: time_outs * MS,
            round_trips: trips,
            settle_ns: Some(settle * MS),
            ..BOUNDS
        }
    })
}

/// The law proves something only if each parameter decides a verdict in some of the histories.
#[test]
fn among_the_histories_each_parameter_decides_verdicts_of_its_properties_alone() {
    let mut runner = TestRunner::deterministic();
    let mut decided = vec![false; looser().len()];
    for _ in 0..4096 {
        let history = any_histories().new_tree(&mut runner).unwrap().current();
        let bounds = bounds().new_tree(&mut runner).unwrap().current();
        let strict = violated(&history, &bounds);
        for ((name, loosen, properties), decided) in looser().into_iter().zip(&mut decided) {
            let loose = violated(&history, &loosen(bounds, 40 * MS));
            for (strict, loose) in strict
                .iter()
                .zip(&loose)
                .filter(|(one, other)| one != other)
            {
                assert!(properties.contains(&strict.0), "{name}: {}", strict.0);
                *decided |= loose.1.is_none();
            }
        }
    }
    let idle = looser().into_iter().zip(decided);
    let idle: Vec<&str> = idle
        .filter(|(_, is)| !is)
        .map(|((name, ..), _)| name)
        .collect();
    assert!(idle.is_empty(), "{idle:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_stricter_bound_never_gives_fewer_violations(
        history in any_histories(),
        bounds in bounds(),
        by_ns in 1..60 * MS,
    ) {
        let strict = violated(&history, &bounds);
        for (name, loosen, _) in looser() {
            let loose = violated(&history, &loosen(bounds, by_ns));
            for ((property, strict_ns), (_, loose_ns)) in strict.iter().zip(loose) {
                if let Some(loose_ns) = loose_ns {
                    prop_assert!(
                        strict_ns.is_some_and(|strict_ns| strict_ns <= loose_ns),
                        "{}: {} at {:?}, loosened at {}",
                        name, property, strict_ns, loose_ns,
                    );
                }
            }
        }
    }

    #[test]
    fn what_a_run_could_have_shown_changes_no_violation(
        history in any_histories(),
        bounds in bounds(),
        horizon_ns in 0..500 * MS,
        acts_within_ns in 0..100 * MS,
    ) {
        let other = Bounds { horizon_ns, acts_within_ns, ..bounds };
        prop_assert_eq!(violated(&history, &bounds), violated(&history, &other));
    }
}
