//! Classes held to their members, and violations found at the step that is known for them.

use locklab_check::Property;
use locklab_history::{Event, History};
use locklab_model::scenario::{Scenario, load};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;

use super::classes::{Class, schedule};
use super::outcome::{Does, Outcome};
use super::subject::{Baseline, as_override};
use super::{Faults, Place, STANDARD_SETS};

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
    assert_eq!(does(&[Property::ForeignRelease], true), Does::Other);
    assert_eq!(does(&[], false), Does::Inconclusive);
    assert_eq!(does(&[], true), Does::Nothing);
}

#[test]
fn scenarios_that_rely_on_tokens_are_compared() {
    let place = Place::of_fenced(&[], 0..1, Faults::One).expect("they end");
    let labels: Vec<&str> = place.subjects.iter().map(|it| &*it.label).collect();
    for name in ["kleppmann/k5", "baselines/cas", "antirez/a2"] {
        assert!(labels.contains(&name), "{labels:?}");
    }
    // No token; a resource that tokens do not keep safe; a campaign.
    for name in ["kleppmann/k1", "kleppmann/k7", "kleppmann/k19"] {
        assert!(!labels.contains(&name), "{labels:?}");
    }
}
