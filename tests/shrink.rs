//! `locklab_shrink`: what is left of a run violates the same property, cannot lose anything more, and
//! does not depend on the number of threads.

use std::sync::atomic::AtomicBool;

use locklab_check::{Property, Verdict};
use locklab_model::scenario::{self, Scenario, load, parse};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_shrink::{Best, Minimum, NotViolated, Options, Size, Subject, shrink, toml};

/// One more seed is tried for each candidate, so that the tests take little time.
const TRIES: u64 = 1;

fn smallest(scenario: &Scenario, seed: u64, property: Property, threads: usize) -> Minimum {
    let subject = Subject::of(scenario, seed);
    let options = Options {
        property,
        tries: TRIES,
        threads,
        stop: &AtomicBool::new(false),
        accepts: &|_| true,
        progress: &|_| {},
    };
    shrink(&subject, &options).unwrap_or_else(|error| panic!("{}: {error}", scenario.name))
}

fn shipped(name: &str) -> Scenario {
    load(name, &[]).expect("it ships")
}

fn violates(scenario: &Scenario, seed: u64, property: Property) -> bool {
    let run = judged::run(scenario, seed, Keep::default());
    run.is_ok_and(|run| matches!(run.verdicts[&property], Verdict::Violated(_)))
}

/// Scenarios with a seed, and a property that it violates; other properties are violated too.
fn cases() -> Vec<(Scenario, u64, Property)> {
    let late = load("kleppmann/k1", &["clocks.host.c2.drift_ppm=100".into()]);
    vec![
        (shipped("kleppmann/k10"), 0, Property::Lease),
        (shipped("kleppmann/k10"), 0, Property::LostUpdate),
        (late.expect("it is valid"), 0, Property::Resource),
        (shipped("redis-docs/r12"), 1, Property::Lease),
        (shipped("redis-docs/r5"), 0, Property::ForeignRelease),
    ]
}

#[test]
fn minimum_violates_the_same_property_when_it_is_read_from_its_file() {
    for (scenario, seed, property) in cases() {
        let found = smallest(&scenario, seed, property, 1);
        assert!(found.statistics.is_minimal);
        assert!(found.after < found.before, "{}", scenario.name);
        let text = toml(&found.best.scenario, &["Shrunk.".into()]);
        let again = parse("shrunk.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            violates(&again, found.best.seed, property),
            "{property}:\n{text}"
        );
    }
}

#[test]
fn no_fault_client_or_round_can_be_left_out_of_a_minimum() {
    for (scenario, seed, property) in cases() {
        let Minimum { best, .. } = smallest(&scenario, seed, property, 1);
        let seeds = [best.seed].into_iter().chain(0..TRIES);
        let holds = |smaller: &Scenario| {
            let mut seeds = seeds.clone();
            scenario::check(smaller).is_err()
                || !seeds.any(|seed| violates(smaller, seed, property))
        };
        for fault in best.scenario.fault.keys() {
            let mut smaller = best.scenario.clone();
            smaller.fault.remove(fault);
            assert!(holds(&smaller), "{} without {fault}", scenario.name);
        }
        let mut smaller = best.scenario.clone();
        smaller.topology.clients -= 1;
        assert!(holds(&smaller), "{} with a client less", scenario.name);
        let mut smaller = best.scenario.clone();
        smaller.workload.rounds -= 1;
        assert!(holds(&smaller), "{} with a round less", scenario.name);
    }
}

#[test]
fn minimum_is_the_same_on_any_number_of_threads() {
    let scenario = shipped("kleppmann/k10");
    let found = |threads| {
        let found = smallest(&scenario, 0, Property::Lease, threads);
        (
            toml(&found.best.scenario, &[]),
            found.best.seed,
            found.statistics,
        )
    };
    let expected = found(1);
    assert_eq!(found(3), expected);
}

#[test]
fn what_is_under_test_stays() {
    let sets = ["node.persistence=aof-always", "workload.check=deadline"];
    let scenario = load("kleppmann/k13-unchecked", &[]).expect("it ships");
    let with_sets = load("kleppmann/k1", &sets.map(String::from));
    assert!(with_sets.is_ok());
    let found = smallest(&scenario, 0, Property::Lease, 1);
    let mut lock = scenario.lock.clone();
    assert_eq!(found.best.scenario.resource, scenario.resource);
    assert_eq!(found.best.scenario.workload.check, scenario.workload.check);
    // Only the jitter between two attempts, which is random, may be gone.
    let json = |lock| serde_json::to_value(lock).expect("it is JSON");
    let (mut before, after) = (json(&mut lock), json(&mut found.best.scenario.lock.clone()));
    before["retry_jitter_ms"] = after["retry_jitter_ms"].clone();
    assert_eq!(before, after);
}

#[test]
fn minimum_cannot_be_shrunk_any_further() {
    let found = smallest(&shipped("kleppmann/k10"), 0, Property::Lease, 1);
    let again = smallest(&found.best.scenario, found.best.seed, Property::Lease, 1);
    assert_eq!(again.after, Size::of(&found.best.scenario));
}

#[test]
fn run_that_does_not_violate_the_property_is_refused() {
    let subject = Subject::of(&shipped("kleppmann/k1"), 0);
    let options = Options {
        property: Property::Lease,
        tries: 0,
        threads: 1,
        stop: &AtomicBool::new(false),
        accepts: &|_| true,
        progress: &|_| {},
    };
    let refused = shrink(&subject, &options).map(|found| found.after);
    let told = refused.map_err(|error| match error {
        NotViolated::Other { property, .. } => format!("{property}: {error}"),
        other => other.to_string(),
    });
    assert_eq!(
        told,
        Err("lease: the run does not violate lease: it holds".into())
    );
}

#[test]
fn what_is_not_accepted_is_no_minimum() {
    let subject = Subject::of(&shipped("kleppmann/k10"), 0);
    let smallest = |accepts: &(dyn Fn(&Best) -> bool + Sync)| {
        let options = Options {
            property: Property::Lease,
            tries: TRIES,
            threads: 1,
            stop: &AtomicBool::new(false),
            accepts,
            progress: &|_| {},
        };
        shrink(&subject, &options)
    };
    let five = smallest(&|best| best.scenario.topology.nodes == 5);
    assert_eq!(five.expect("it has five nodes").after.servers, 5);
    let refused = smallest(&|_| false).map(|found| found.after);
    assert!(matches!(
        refused,
        Err(NotViolated::NotAccepted(Property::Lease))
    ));
}

#[test]
fn stopped_search_keeps_what_it_has() {
    let stop = AtomicBool::new(true);
    let options = Options {
        property: Property::Lease,
        tries: 0,
        threads: 2,
        stop: &stop,
        accepts: &|_| true,
        progress: &|_| {},
    };
    let subject = Subject::of(&shipped("kleppmann/k10"), 0);
    let found = shrink(&subject, &options).expect("it is violated");
    assert!(!found.statistics.is_minimal);
    assert!(violates(
        &found.best.scenario,
        found.best.seed,
        Property::Lease
    ));
}
