//! Laws that the judgement of every history obeys.

use locklab_vecmap::{VecMap, VecSet};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use super::history_builder::{HistoryBuilder, MS};
use super::random::{BOUNDS, CLIENTS, histories};
use super::{Property, Verdict, Violation, judge};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Access, Event, History, Name, Record};

/// The times of each violation, without the description, which contains rounded times.
fn outline(verdicts: VecMap<Property, Verdict>) -> Vec<(Property, Option<Violation>)> {
    let verdicts = verdicts.into_iter();
    let outline = verdicts.map(|(property, verdict)| match verdict {
        Verdict::Violated(violation) => (
            property,
            Some(Violation {
                what: String::new(),
                ..violation
            }),
        ),
        _ => (property, None),
    });
    outline.collect()
}

/// `belief` or `lease` by the definition: the first beginning of a belief at which two clients believe,
/// and not all of them are readers.
fn first_overlap(history: &History, end_ns: impl Fn(&Grant) -> u64) -> Option<u64> {
    let grants = Timeline::of(history).grants;
    let held = |grant: &Grant, at_ns| grant.begins_ns <= at_ns && at_ns < end_ns(grant);
    let conflict = |at_ns| {
        let holding: Vec<&Grant> = grants.iter().filter(|grant| held(grant, at_ns)).collect();
        let conflicts =
            |one: &Grant, other: &Grant| one.host != other.host && !(one.shared && other.shared);
        let pairs = holding
            .iter()
            .flat_map(|one| holding.iter().map(move |other| (one, other)));
        pairs.into_iter().any(|(one, other)| conflicts(one, other))
    };
    let beginnings = grants.iter().map(|grant| grant.begins_ns);
    beginnings.filter(|&at_ns| conflict(at_ns)).min()
}

/// An attempt of a client: how long the client waits before it, how long it takes, and its
/// result.
pub(super) type Attempt = (u64, u64, AttemptResult);

/// The result of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) enum AttemptResult {
    Refused,
    /// The lock, which is released after this many milliseconds.
    Granted(u64),
}

pub(super) fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let came = prop_oneof![
        Just(AttemptResult::Refused),
        Just(AttemptResult::Refused),
        (1..50_u64).prop_map(AttemptResult::Granted)
    ];
    vec((1..60_u64, 0..30_u64, came), 0..8)
}

/// The history of clients that make these attempts independently.
pub(super) fn asking(clients: &[Vec<Attempt>; 2]) -> HistoryBuilder {
    let mut steps = Vec::new();
    for (attempts, client) in clients.iter().zip(CLIENTS) {
        let mut now_ms = 0;
        for &(pause_ms, takes_ms, came) in attempts {
            now_ms += pause_ms;
            steps.push((now_ms, client, 0));
            now_ms += takes_ms;
            match came {
                AttemptResult::Refused => steps.push((now_ms, client, 1)),
                AttemptResult::Granted(held_ms) => {
                    steps.push((now_ms, client, 2));
                    now_ms += held_ms;
                    steps.push((now_ms, client, 3));
                }
            }
        }
    }
    steps.sort_by_key(|&(at_ms, ..)| at_ms);
    let builder = steps.into_iter().fold(
        HistoryBuilder::default(),
        |builder, (at_ms, client, what)| match what {
            0 => builder.tries(at_ms, client),
            1 => builder.fails(at_ms, client),
            2 => builder.granted(at_ms, client),
            _ => builder.releases(at_ms, client),
        },
    );
    builder.ends(LAST_MS)
}

/// An upper bound on the times of these attempts.
const LAST_MS: u64 = 2_000;

/// When the lock had been free, and requested by one client, for longer than the bound: by the
/// definition, evaluated at each millisecond.
fn first_wait_in_vain(clients: &[Vec<Attempt>; 2]) -> Option<u64> {
    let bound_ms = BOUNDS.deadlock_ns / MS;
    let mut held = vec![false; LAST_MS as usize];
    let mut wanted = [held.clone(), held.clone()];
    for (attempts, wanted) in clients.iter().zip(&mut wanted) {
        let mut now_ms = 0;
        // Whether the last attempt was refused, so that the next one continues the same wait.
        let mut refused = false;
        for &(pause_ms, takes_ms, came) in attempts {
            if refused {
                wanted[now_ms as usize..(now_ms + pause_ms) as usize].fill(true);
            }
            now_ms += pause_ms;
            wanted[now_ms as usize..(now_ms + takes_ms) as usize].fill(true);
            now_ms += takes_ms;
            refused = matches!(came, AttemptResult::Refused);
            if let AttemptResult::Granted(held_ms) = came {
                held[now_ms as usize..(now_ms + held_ms) as usize].fill(true);
                now_ms += held_ms;
            }
        }
    }
    let in_vain = |wanted: &Vec<bool>| {
        let mut lasted_ms = 0;
        wanted.iter().zip(&held).position(|(wanted, held)| {
            lasted_ms = if *wanted && !held { lasted_ms + 1 } else { 0 };
            lasted_ms > bound_ms
        })
    };
    let first = wanted.iter().filter_map(in_vain).min();
    first.map(|at_ms| at_ms as u64 * MS)
}

/// An access: its index and record, client and grant, its kind, and whether it was accepted.
type AccessEntry<'h> = (usize, &'h Record, (&'h Name, u32), Access, bool);

/// The accesses of a history.
fn accesses(history: &History) -> Vec<AccessEntry<'_>> {
    let records = history.records.iter().enumerate();
    let accesses = records.filter_map(|(index, record)| match &record.event {
        Event::Access {
            client,
            grant,
            access,
            accepted,
            ..
        } => Some((index, record, (client, *grant), *access, *accepted)),
        _ => None,
    });
    accesses.collect()
}

/// Compares every write with every earlier write; returns the first write of an older holder, and
/// whether the order is unknown for any.
fn first_stale_write(history: &History) -> (Option<u64>, bool) {
    let timeline = Timeline::of(history);
    let is_write = |access: &Access| matches!(access, Access::Write { .. });
    let all = accesses(history);
    let written: Vec<_> = all
        .iter()
        .filter(|(.., access, ok)| is_write(access) && *ok)
        .collect();
    let mut unknown = false;
    for (place, &&(_, record, late, ..)) in written.iter().enumerate() {
        for &&(_, _, early, ..) in &written[..place] {
            let grants = (timeline.grant_of(late), timeline.grant_of(early));
            let (Some(late), Some(early)) = grants else {
                continue;
            };
            if early <= late {
                continue;
            }
            let (old, new) = (&timeline.grants[late], &timeline.grants[early]);
            let overlap = new.asked.is_some_and(|asked| asked < old.began);
            match (overlap, old.token, new.token) {
                (true, Some(old), Some(new)) if old > new => {}
                (true, Some(old), Some(new)) if old == new => unknown = true,
                (true, None, _) | (true, _, None) => unknown = true,
                _ => return (Some(record.at_ns), unknown),
            }
        }
    }
    (None, unknown)
}

/// The first refused access of a holder that no other client had followed, or the first access
/// if none was accepted.
fn first_without_progress(history: &History) -> Option<u64> {
    let grants = Timeline::of(history).grants;
    let all = accesses(history);
    let wronged = all
        .iter()
        .filter(|(index, record, (client, number), _, accepted)| {
            let mut held = grants.iter().filter(|held| {
                held.client == *client
                    && held.number == *number
                    && held.began < *index
                    && record.at_ns < held.lapses_ns
            });
            !accepted
                && held.any(|held| {
                    grants
                        .iter()
                        .filter(|other| other.began < *index)
                        .all(|other| {
                            let asked = held.asked.unwrap_or(held.began);
                            let later = other.began > held.began
                                || (other.began > asked && other.token > held.token);
                            let together = other.shared && held.shared;
                            other.client == held.client || together || !later
                        })
                })
        });
    let first = wronged.map(|(_, record, ..)| record.at_ns).next();
    let nothing = !all.iter().any(|(.., accepted)| *accepted);
    first.or_else(|| {
        all.first()
            .filter(|_| nothing)
            .map(|(_, record, ..)| record.at_ns)
    })
}

fn violated_at(verdicts: &VecMap<Property, Verdict>, property: Property) -> Option<u64> {
    match verdicts.get(&property)? {
        Verdict::Violated(violation) => Some(violation.at_ns),
        _ => None,
    }
}

/// The laws prove something only if each property is violated in some of the histories and holds in
/// others.
#[test]
fn among_the_histories_each_property_is_violated_and_holds() {
    let mut runner = TestRunner::deterministic();
    let mut violated = VecSet::new();
    let mut holds = VecSet::new();
    for _ in 0..4096 {
        let history = histories().new_tree(&mut runner).unwrap().current();
        for (property, verdict) in judge(&history, &BOUNDS) {
            match verdict {
                Verdict::Violated(_) => violated.insert(property),
                Verdict::Holds => holds.insert(property),
                Verdict::Inconclusive { .. } => false,
            };
        }
    }
    assert_eq!(holds, VecSet::from(Property::ALL));
    // Few of these histories are quiet long enough after their last fault.
    violated.insert(Property::Recovery);
    assert_eq!(violated, VecSet::from(Property::ALL));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/regressions/check-laws.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_violated_lease_is_a_violated_belief_no_later(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        if let Some(lease_ns) = violated_at(&verdicts, Property::Lease) {
            let belief_ns = violated_at(&verdicts, Property::Belief);
            prop_assert!(belief_ns.is_some_and(|belief_ns| belief_ns <= lease_ns));
        }
    }

    #[test]
    fn overlaps_match_the_definition(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        let belief = first_overlap(&history, |grant| grant.ends_ns);
        let lease = first_overlap(&history, |grant| grant.lapses_ns);
        prop_assert_eq!(violated_at(&verdicts, Property::Belief), belief);
        prop_assert_eq!(violated_at(&verdicts, Property::Lease), lease);
    }

    #[test]
    fn excessive_waits_match_the_definition(clients in [attempts(), attempts()]) {
        let verdicts = judge(&asking(&clients).history(), &BOUNDS);
        let expected = first_wait_in_vain(&clients);
        prop_assert_eq!(violated_at(&verdicts, Property::Deadlock), expected);
        // Without faults, and without time to settle, the rule is the same.
        prop_assert_eq!(violated_at(&verdicts, Property::Recovery), expected);
        prop_assert_eq!(violated_at(&verdicts, Property::Availability), expected);
    }

    #[test]
    fn stale_writes_match_the_definition(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        let (stale, unknown) = first_stale_write(&history);
        prop_assert_eq!(violated_at(&verdicts, Property::StaleWrite), stale);
        let holds = verdicts[&Property::StaleWrite] == Verdict::Holds;
        prop_assert!(!(holds && unknown));
    }

    #[test]
    fn progress_is_that_of_the_definition(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        let expected = first_without_progress(&history);
        prop_assert_eq!(violated_at(&verdicts, Property::Progress), expected);
    }

    #[test]
    fn the_resource_is_violated_exactly_when_a_part_is(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        let parts = Property::PARTS_OF_RESOURCE.into_iter();
        let first = parts.filter_map(|part| violated_at(&verdicts, part)).min();
        prop_assert_eq!(violated_at(&verdicts, Property::Resource), first);
    }

    #[test]
    fn a_violation_lies_within_the_run_and_does_not_end_before_it_begins(history in histories()) {
        for verdict in judge(&history, &BOUNDS).into_values() {
            if let Verdict::Violated(violation) = verdict {
                prop_assert!(violation.at_ns <= violation.until_ns);
                prop_assert!(violation.until_ns <= history.end_ns);
                prop_assert!(!violation.clients.is_empty());
            }
        }
    }

    #[test]
    fn silence_at_the_end_adds_no_violation(
        history in histories(),
        by_ns in 1..1_000 * MS,
    ) {
        let mut longer = history.clone();
        longer.end_ns += by_ns;
        let (before, after) = (judge(&history, &BOUNDS), judge(&longer, &BOUNDS));
        for property in Property::ALL {
            let (before, after) = (violated_at(&before, property), violated_at(&after, property));
            // But a client that is still waiting at the end waits longer.
            let waits = matches!(
                property,
                Property::Deadlock | Property::Availability | Property::Recovery
            );
            if !waits || before.is_some() {
                prop_assert_eq!(before, after, "{}", property);
            }
        }
    }

    #[test]
    fn a_later_start_moves_times_and_nothing_else(history in histories(), by_ns in 1..1_000 * MS) {
        let mut moved = history.clone();
        moved.end_ns += by_ns;
        for record in &mut moved.records {
            record.at_ns += by_ns;
        }
        let mut expected = outline(judge(&history, &BOUNDS));
        for (_, violation) in &mut expected {
            if let Some(violation) = violation {
                violation.at_ns += by_ns;
                violation.until_ns += by_ns;
            }
        }
        prop_assert_eq!(outline(judge(&moved, &BOUNDS)), expected);
    }
}
