//! Laws that the judgement of every history obeys.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use super::story::{MS, Story};
use super::{Bounds, Property, Verdict, Violation, judge};
use crate::history::timeline::{Grant, Timeline};
use crate::history::{ClockKind, History, Outcome};

pub(crate) const BOUNDS: Bounds = Bounds {
    deadlock_ns: 40 * MS,
    nodes: 1,
};

const CLIENTS: [&str; 3] = ["c1", "c2", "c3"];

/// What a set may be found to have: the calls' numbers are whatever came before.
const MEMBERS: [(&str, u32); 13] = [
    ("c1", 1),
    ("c2", 1),
    ("c3", 1),
    ("c1", 2),
    ("c2", 2),
    ("c3", 2),
    ("c1", 3),
    ("c2", 3),
    ("c3", 3),
    ("c1", 4),
    ("c2", 4),
    ("c3", 4),
    ("c1", 5),
];

/// One event of a random story: which, of which client, how long after the last.
type Step = (u8, usize, u64);

/// A story of clients that do anything at any time, and of faults that hit them.
fn tell(steps: &[Step]) -> Story {
    let mut now_ms = 0;
    let mut story = Story::new();
    for &(what, who, after_ms) in steps {
        now_ms += after_ms;
        let client = CLIENTS[who];
        let clock = if after_ms % 2 == 0 {
            ClockKind::Wall
        } else {
            ClockKind::Monotonic
        };
        story = match what {
            0 => story.tries(now_ms, client),
            1 => story.fails(now_ms, client),
            2 => story.granted(now_ms, client),
            3 => story.granted_with_token(now_ms, client, 40 - after_ms),
            4..=6 => story.holds_for(now_ms, client, clock, 5 * after_ms),
            7 => story.prolongs(now_ms, client, clock, 10),
            8 => story.releases(now_ms, client),
            9 => story.released(now_ms, client, 1),
            10 => story.reads(now_ms, client, after_ms),
            11 => story.writes(now_ms, client, after_ms / 3),
            12 => story.refused_writing(now_ms, client, 0),
            13 => story.steps(now_ms, client, 10 - after_ms as i64),
            14 => story.drifts(now_ms, client, after_ms as i64 * 10_000 - 60_000),
            15 => story.suspends(now_ms, client),
            16 => story.resumes(now_ms, client),
            17 => story.fault_begins(now_ms, client, "kill"),
            18 => story.fault_begins(now_ms, client, "pause"),
            19 => story.adds(now_ms, client, Outcome::Ok),
            20 => story.members(now_ms, client, &MEMBERS[..after_ms as usize]),
            21 => story.granted_to_read(now_ms, client),
            _ => story.fault_ends(now_ms, client, "pause"),
        };
    }
    story
}

/// Any history that such a story tells.
pub(crate) fn histories() -> impl Strategy<Value = History> {
    vec((0..23_u8, 0..CLIENTS.len(), 0..13_u64), 0..40).prop_map(|steps| tell(&steps).history())
}

/// The times of each violation, without the words, in which times are rounded.
fn outline(verdicts: BTreeMap<Property, Verdict>) -> Vec<(Property, Option<Violation>)> {
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

/// B∞ or Bd by the definition: the first beginning of a belief at which two clients
/// believe, and not all of them to read.
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

fn violated_at(verdicts: &BTreeMap<Property, Verdict>, property: Property) -> Option<u64> {
    match verdicts.get(&property)? {
        Verdict::Violated(violation) => Some(violation.at_ns),
        _ => None,
    }
}

/// The laws would say little of histories in which nothing ever goes wrong, or right.
#[test]
fn among_the_histories_each_property_is_violated_and_holds() {
    let mut runner = TestRunner::deterministic();
    let mut violated = BTreeSet::new();
    let mut holds = BTreeSet::new();
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
    assert_eq!(violated, BTreeSet::from(Property::ALL));
    assert_eq!(holds, BTreeSet::from(Property::ALL));
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
    fn overlaps_are_those_of_the_definition(history in histories()) {
        let verdicts = judge(&history, &BOUNDS);
        let belief = first_overlap(&history, |grant| grant.ends_ns);
        let lease = first_overlap(&history, |grant| grant.lapses_ns);
        prop_assert_eq!(violated_at(&verdicts, Property::Belief), belief);
        prop_assert_eq!(violated_at(&verdicts, Property::Lease), lease);
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
    fn a_stretch_without_records_at_the_end_adds_no_violation(
        history in histories(),
        by_ns in 1..1_000 * MS,
    ) {
        let mut longer = history.clone();
        longer.end_ns += by_ns;
        let (before, after) = (judge(&history, &BOUNDS), judge(&longer, &BOUNDS));
        for property in Property::ALL {
            let (before, after) = (violated_at(&before, property), violated_at(&after, property));
            // But who is still waiting at the end, waits longer.
            let waits = matches!(property, Property::Deadlock | Property::Availability);
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
