//! Classes held to their members, and violations found at the step that is known for them.

use std::collections::{BTreeMap, BTreeSet};

use locklab_check::Property;
use locklab_history::{Event, Fault, History, Start};
use locklab_model::scenario::{Scenario, load};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;

use super::classes::{Class, schedule};
use super::outcome::{Does, Outcome};
use super::subject::{Baseline, as_override};
use super::{Faults, Place, STANDARD_SETS, Target};

fn two_clients(sets: &[&str]) -> Scenario {
    let sets: Vec<String> = { STANDARD_SETS.iter().chain(sets) }
        .map(|set| (*set).to_owned())
        .collect();
    load(super::STANDARD, &sets).expect("it ships")
}

fn baseline(sets: &[&str]) -> Baseline {
    Baseline::of(&two_clients(sets), 0).expect("it ends")
}

/// The run with one placement of a class.
fn member(baseline: &Baseline, class: &Class, at: usize) -> JudgedRun {
    let fault = class.member(at, &baseline.log.steps, &baseline.setting);
    let schedule = schedule([fault]);
    judged::run_schedule(&baseline.scenario, baseline.seed, schedule, Keep::default())
        .expect("it ends")
}

/// What happened in a run, but for when its fault is recorded to have begun.
fn apart_from_its_fault(history: &History) -> History {
    let mut history = history.clone();
    history
        .records
        .retain(|record| !matches!(record.event, Event::Fault { .. }));
    history
}

/// The argument in `classes`, held to runs: every placement of a class makes the same history.
#[test]
fn all_placements_of_a_class_make_the_same_run() {
    let baseline = baseline(&[]);
    let mut compared = 0;
    for class in &baseline.singles {
        let [others @ .., run_at] = &class.steps[..] else {
            panic!("a class without a step");
        };
        let run = member(&baseline, class, *run_at);
        for at in others {
            let other = member(&baseline, class, *at);
            let step = &baseline.log.steps[*at].step;
            assert_eq!(
                apart_from_its_fault(&other.history),
                apart_from_its_fault(&run.history),
                "{} of {} at {step}",
                class.kind().name,
                class.target
            );
            // Whether a run is conclusive also depends on when its fault is recorded to have begun.
            assert_eq!(Outcome::of(&other).violated, Outcome::of(&run).violated);
            compared += 1;
        }
    }
    assert!(compared > 500, "only {compared} placements were compared");
}

/// Every step is in as many classes as there are faults that can strike there, once each.
#[test]
fn every_placement_is_in_one_class() {
    let baseline = baseline(&[]);
    let mut all: Vec<(usize, String, usize)> = Vec::new();
    for class in &baseline.singles {
        let places = { class.steps.iter() }.map(|at| (class.kind, class.target.to_string(), *at));
        all.extend(places);
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    // A pause of each of the four hosts at each step.
    let pauses = all.iter().filter(|(kind, ..)| *kind == 0).count();
    assert_eq!(pauses, 4 * baseline.log.steps.len());
}

/// The steps at which a pause of this host makes the run violate a property, in the order of the run.
fn lethal_pauses(baseline: &Baseline, host: &str, property: Property) -> Vec<String> {
    let mut of_host: Vec<&Class> = { baseline.singles.iter() }
        .filter(|class| class.kind().name == "pause" && class.target.to_string() == host)
        .collect();
    of_host.sort_by_key(|class| class.run_at());
    let violates = of_host.into_iter().filter(|class| {
        let run = baseline.single(class, Keep::default()).expect("it ends");
        Outcome::of(&run).violates(property)
    });
    violates
        .map(|class| baseline.step(class).step.to_string())
        .collect()
}

/// The resource answers nobody until c1's lease is over and c2 has the lock. Then c1 gives back what is
/// c2's, if its release does not compare. The last step at which that begins is the arrival of c1's
/// write: when its answer leaves, c1 will be back in time.
#[test]
fn an_unconditional_release_is_found_up_to_the_step_before_it() {
    let compares = baseline(&[]);
    let lethal = |baseline| lethal_pauses(baseline, "resource", Property::ForeignRelease);
    assert_eq!(lethal(&compares), [""; 0]);
    let lethal = lethal(&baseline(&["lock.release=del"]));
    let last = lethal.last().map(String::as_str);
    assert_eq!(last, Some("c1 WRITE #1 arrives at resource"), "{lethal:?}");
}

/// What a map shows is repeated by the command that it prints: the fault as an override of the scenario.
#[test]
fn a_printed_fault_makes_the_same_run() {
    let scenario = two_clients(&[]);
    let baseline = Baseline::of(&scenario, 0).expect("it ends");
    for class in baseline.singles.iter().step_by(29) {
        let run = baseline.single(class, Keep::default()).expect("it ends");
        let set = as_override(&run.schedule);
        let mut sets = scenario.overrides.clone();
        sets.push(set);
        let again = load(super::STANDARD, &sets).expect("it is a scenario");
        let again = judged::run(&again, 0, Keep::default()).expect("it ends");
        assert_eq!(again.schedule, run.schedule);
        assert_eq!(again.history, run.history);
    }
}

#[test]
fn a_fault_does_the_worst_that_it_violates() {
    let does = |violated: &[Property], is_conclusive| {
        let violated = violated.to_vec();
        Outcome {
            violated,
            is_conclusive,
        }
        .does()
    };
    assert_eq!(
        does(&[Property::Resource, Property::Lease], true),
        Does::Lease
    );
    assert_eq!(
        does(&[Property::Deadlock, Property::Resource], true),
        Does::Resource
    );
    assert_eq!(does(&[Property::Deadlock], false), Does::Deadlock);
    assert_eq!(does(&[Property::Availability], false), Does::Availability);
    assert_eq!(does(&[Property::ForeignRelease], true), Does::Other);
    assert_eq!(does(&[Property::Belief, Property::Fifo], true), Does::Other);
    assert_eq!(does(&[Property::Belief], false), Does::Belief);
    assert_eq!(does(&[], false), Does::Inconclusive);
    assert_eq!(does(&[], true), Does::Nothing);
}

#[test]
fn scenarios_that_rely_on_tokens_are_compared() {
    let place = Place::of_fenced(&[], 0..0, Faults::One).expect("they end");
    let labels: Vec<&str> = place.subjects.iter().map(|it| &*it.label).collect();
    for name in ["kleppmann/k5", "baselines/cas", "antirez/a2"] {
        assert!(labels.contains(&name), "{labels:?}");
    }
    // No token; a resource that tokens do not keep safe; a campaign.
    for name in ["kleppmann/k1", "kleppmann/k7", "kleppmann/k19"] {
        assert!(!labels.contains(&name), "{labels:?}");
    }
}

/// What a run with this fault violates.
fn violated(baseline: &Baseline, fault: Fault) -> Vec<Property> {
    let schedule = schedule([fault]);
    let run = judged::run_schedule(&baseline.scenario, baseline.seed, schedule, Keep::default())
        .expect("it ends");
    Outcome::of(&run).violated
}

/// Places faults by time, without any knowledge of steps, and compares.
///
/// A fault a nanosecond before a step violates exactly what it violates at the step, at every third class. And no
/// moment of `moments`, evenly spaced from the first step to the last, violates what no step does.
#[track_caller]
fn check_against_brute_force(scenario: &str, sets: &[&str], moments: u64) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let baseline = Baseline::of(&load(scenario, &sets).expect("it ships"), 0).expect("it ends");
    let (steps, setting) = (&baseline.log.steps, &baseline.setting);
    let mut of_kind: BTreeMap<(usize, &Target), Vec<&Class>> = BTreeMap::new();
    for class in &baseline.singles {
        if let Target::Host(_) = class.target {
            let classes = of_kind.entry((class.kind, &class.target)).or_default();
            classes.push(class);
        }
    }
    let at_time = |fault: Fault, at_ns| {
        let start = Start::At { at_ns };
        violated(&baseline, Fault { start, ..fault })
    };
    let (mut compared, mut violating) = (0, 0);
    for ((_, target), classes) in of_kind {
        let kind = classes[0].kind();
        for class in classes.iter().step_by(3) {
            let at = class.steps[0];
            let at_ns = steps[at].at_ns;
            // What comes before a step that is not the first of its instant comes after that one.
            if at == 0 || steps[at - 1].at_ns < at_ns {
                let fault = class.member(at, steps, setting);
                let by_step = violated(&baseline, fault.clone());
                let by_time = at_time(fault, at_ns - 1);
                assert_eq!(
                    by_time, by_step,
                    "{} of {target} at {}",
                    kind.name, steps[at].step
                );
                compared += 1;
            }
        }
        let mut of_steps = classes.iter();
        let mut by_step = BTreeSet::new();
        let (first_ns, last_ns) = (steps[0].at_ns, steps[steps.len() - 1].at_ns);
        for moment in 0..moments {
            let at_ns = first_ns + (last_ns - first_ns) * moment / moments;
            let by_time = at_time(classes[0].fault(steps, setting), at_ns);
            violating += usize::from(!by_time.is_empty());
            for property in by_time {
                // As many steps are struck as it takes.
                while !by_step.contains(&property) {
                    let class = of_steps.next();
                    let what = || {
                        format!(
                            "{} of {target} violates {property} at {at_ns} ns, and at no step",
                            kind.name
                        )
                    };
                    let class = class.unwrap_or_else(|| panic!("{}", what()));
                    by_step.extend(violated(&baseline, class.fault(steps, setting)));
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} placements were compared");
    assert!(violating > 30, "only {violating} moments violate anything");
}

#[test]
fn steps_find_what_brute_force_over_time_finds_in_k1() {
    check_against_brute_force("kleppmann/k1", &[], 50);
}

#[test]
fn steps_find_what_brute_force_over_time_finds_of_a_lock_without_expiry() {
    let sets = [&STANDARD_SETS[..], &["lock={ name = \"setnx\" }"]].concat();
    check_against_brute_force(super::STANDARD, &sets, 50);
}

#[test]
fn steps_find_what_brute_force_over_time_finds_with_tokens_of_one_node() {
    check_against_brute_force("redisson/fenced", &[], 100);
}

/// The segment that arrives at a node without power is sent again until the node is back; the node loses power once.
#[test]
fn a_power_loss_when_a_message_arrives_forgets_the_grant_of_before() {
    let sets = [String::from(
        r#"fault={ placed = { at_step = "c2 SET #1 arrives at n1", duration_ms = 1, kind = "crash", on = ["n1"] } }"#,
    )];
    let scenario = load("redis-docs/r12-one-node", &sets).expect("it ships");
    let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
    let violated = Outcome::of(&run).violated;
    for property in [Property::Lease, Property::Resource] {
        assert!(violated.contains(&property), "{violated:?}");
    }
}

/// What is not a surprise is a violation nevertheless, and not *nothing*.
#[test]
fn a_node_that_is_gone_leaves_the_lock_unavailable() {
    let baseline = baseline(&[]);
    let kills = { baseline.singles.iter() }.filter(|class| {
        class.kind().name == "kill, restart after the lease" && class.target.to_string() == "n1"
    });
    let does = kills.map(|class| {
        Outcome::of(&baseline.single(class, Keep::default()).expect("it ends")).does()
    });
    assert!(does.into_iter().any(|does| does == Does::Availability));
}
