//! Every run judged twice, from its history and from what its nodes held: the two agree.
//!
//! `LOCKLAB_LONG=1` takes many seeds of each scenario. With `--nocapture` the tests print, for each
//! verdict on the history of `foreign-release`, in how many runs the nodes show a violation, on one
//! server and on several.

use std::collections::BTreeMap;
use std::ops::Range;

use locklab_ask::problems::{Part, Plan, Row, Setting, put_in, rows};
use locklab_check::{Property, Verdict};
use locklab_evidence::Expected;
use locklab_model::scenario::{SHIPPED, Scenario, load};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_situations::{Situation, Subject as Situated, can_meet, met};
use locklab_testing::at_once;
use locklab_truth::{Comparison, Subject, compare, rule};

/// The locks that the nodes do not tell the holder of.
const UNCOVERED: [&str; 5] = [
    "consensus",
    "database-cas",
    "database-unique",
    "getset",
    "getset-as-listed",
];

/// The forms of locks whose release deletes the key of whoever holds the lock, always or after a
/// comparison in a step of its own.
const UNCOMPARED: [&str; 4] = [
    "set-nx-px (release del)",
    "set-nx-px (release get-del)",
    "setnx",
    "setnx-expire",
];

/// The outcome of the runs of one scenario.
#[derive(Default)]
struct Tally {
    /// The runs by their servers, the verdict on the history of `foreign-release`, and whether the
    /// nodes violate it.
    foreign: BTreeMap<[&'static str; 3], u64>,
    differences: Vec<String>,
}

fn compared(scenario: &Scenario, seeds: Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let drawn = scenario.drawn(seed).scenario;
        let Ok(rule) = rule(&drawn.lock, &drawn.topology) else {
            continue;
        };
        let run = judged::run(scenario, seed, Keep::CONTENTS).expect("it ends");
        let subject = Subject {
            history: &run.history,
            contents: run.contents.as_ref().expect("they were kept"),
            topology: &drawn.topology,
            bounds: &judged::bounds(&drawn),
            verdicts: &run.verdicts,
        };
        let met = met(&Situated {
            history: subject.history,
            contents: Some(subject.contents),
            topology: subject.topology,
            lock: &drawn.lock,
        });
        let Comparison {
            foreign_release,
            differences,
        } = compare(&subject, rule);
        let by_history = match run.verdicts[&Property::ForeignRelease] {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Inconclusive { .. } => "inconclusive",
        };
        let servers = match subject.bounds.nodes {
            1 => "one server",
            _ => "several",
        };
        let by_nodes = match foreign_release {
            Some(_) => "violated by nodes",
            None => "not by nodes",
        };
        let key = [servers, by_history, by_nodes];
        *tally.foreign.entry(key).or_default() += 1;
        let name = format!(
            "{} {} seed {seed}",
            scenario.name,
            scenario.overrides.join(" ")
        );
        let deletes = matches!(
            run.verdicts[&Property::ForeignRelease],
            Verdict::Violated(_)
        );
        if deletes && !met.contains(&Situation::ForeignKeyMet) {
            let what = "a release deleted another client's key and did not meet it";
            (tally.differences).push(format!("{name}: {what}"));
        }
        let cannot = met
            .iter()
            .filter(|it| !can_meet(**it, &drawn.lock, &drawn.topology));
        (tally.differences).extend(cannot.map(|it| format!("{name} cannot meet {it}")));
        if let Some(removal) = foreign_release.filter(|_| !may_remove(scenario)) {
            let what = removal.what();
            (tally.differences).push(format!("{name}: no release of this lock should: {what}"));
        }
        let found = differences.iter().map(|found| format!("{name}, {found}"));
        tally.differences.extend(found);
    }
    tally
}

/// Whether a release may take the lock from another client: the scenario predicts it, or its lock
/// is known for it.
fn may_remove(scenario: &Scenario) -> bool {
    let predicted = scenario.expect.get(&Property::ForeignRelease);
    let is_known = |given: &String| {
        given
            .strip_prefix("lock=")
            .is_some_and(|label| UNCOMPARED.contains(&label))
    };
    predicted.is_some_and(|it| it.expected() == Expected::Violated)
        || scenario.overrides.iter().any(is_known)
}

fn is_long() -> bool {
    std::env::var_os("LOCKLAB_LONG").is_some()
}

/// What came of the runs of these scenarios, on two threads.
fn compare_all(scenarios: &[Scenario], seeds: u64) -> Vec<Tally> {
    at_once(2, scenarios, |scenario| compared(scenario, 0..seeds))
}

/// Fails if history and nodes contradict each other in a run.
fn check(scenarios: &[Scenario], seeds: u64) {
    let tallies = compare_all(scenarios, seeds);
    for (scenario, Tally { foreign, .. }) in scenarios.iter().zip(&tallies) {
        println!(
            "{} {}: {foreign:?}",
            scenario.name,
            scenario.overrides.join(" ")
        );
    }
    let all: Vec<&String> = tallies
        .iter()
        .flat_map(|tally| &tally.differences)
        .collect();
    let listed: Vec<&str> = all.iter().map(|it| it.as_str()).collect();
    assert!(
        all.is_empty(),
        "{} differences:\n{}",
        all.len(),
        listed.join("\n")
    );
}

#[test]
fn history_and_nodes_agree_in_every_shipped_scenario() {
    let scenarios = SHIPPED
        .iter()
        .map(|(name, _)| load(name, &[]).expect("it ships"));
    check(
        &scenarios.collect::<Vec<_>>(),
        if is_long() { 100 } else { 2 },
    );
}

#[test]
fn history_and_nodes_agree_for_every_lock_under_random_faults() {
    let setting = Setting {
        lease_ms: 1000,
        parameters: Default::default(),
    };
    let scenarios = rows().into_iter().map(|row| {
        put_in(&row, "problems/campaign", &[], &setting).expect("every lock fits into it")
    });
    check(
        &scenarios.collect::<Vec<_>>(),
        if is_long() { 100 } else { 1 },
    );
}

#[test]
fn history_and_nodes_agree_for_every_lock_in_every_problem() {
    let problems = Plan::shipped().problems;
    let parts = rows().into_iter().flat_map(|row| {
        let parts = problems
            .iter()
            .map(move |problem| Part::of(&row, problem).expect("it fits"));
        parts.collect::<Vec<_>>()
    });
    let scenarios = parts.filter_map(|part| match part {
        Part::Plays { scenario, .. } => Some(*scenario),
        Part::Cannot { .. } => None,
    });
    check(
        &scenarios.collect::<Vec<_>>(),
        if is_long() { 20 } else { 1 },
    );
}

/// The node's clock jumps over the end of the lease and back before anybody asks for the key.
#[test]
fn a_key_that_the_clock_revives_is_there_to_be_deleted() {
    let setting = Setting {
        lease_ms: 1000,
        parameters: Default::default(),
    };
    for (label, seed) in [
        ("setnx-expire (release compare-del)", 8),
        ("redisson", 53),
        ("redisson-fenced", 53),
        ("redisson-no-publish", 53),
        ("redisson-fair", 53),
        ("redisson-fair (newer release)", 53),
        ("redisson-multi (watchdog)", 55),
        ("redisson-read-write", 53),
        ("redisson-redlock", 8),
        ("redisson-redlock", 55),
        ("redisson-redlock", 85),
        ("redisson-redlock (watchdog)", 8),
        ("redisson-redlock (watchdog)", 16),
    ] {
        let all = rows();
        let row = all
            .iter()
            .find(|row| row.label == label)
            .expect("it is a form");
        let scenario = put_in(row, "problems/campaign", &[], &setting).expect("it fits");
        assert_eq!(
            compared(&scenario, seed..seed + 1).differences,
            Vec::<String>::new()
        );
    }
}

#[test]
fn nodes_tell_the_holder_of_every_other_lock() {
    let setting = Setting {
        lease_ms: 1000,
        parameters: Default::default(),
    };
    let is_uncovered = |row: &Row| {
        let scenario = put_in(row, "kleppmann/k1", &[], &setting).expect("every lock fits into it");
        rule(&scenario.lock, &scenario.topology).is_err()
    };
    let mut uncovered: Vec<&str> = rows()
        .iter()
        .filter(|it| is_uncovered(it))
        .map(|it| it.entry.name)
        .collect();
    uncovered.sort_unstable();
    uncovered.dedup();
    assert_eq!(uncovered, UNCOVERED);
}
