//! Searches for mechanisms that are easy to find.

use std::sync::atomic::AtomicBool;

use locklab_history::FaultKind;
use locklab_museum::{Exhibit, Museum as Data};

use super::Strategies;
use super::sighting::Sighting;
use super::sightings::Sightings;
use super::start::Start;
use super::way::{Search, Way};
use crate::strategy::{Rehearsals, Strategy};

fn exhibit(name: &str) -> Exhibit {
    let mut exhibits = Data::shipped().exhibits.into_iter();
    exhibits.find(|it| it.name == name).expect("it ships")
}

fn start(name: &str, way: Way, seeds: std::ops::Range<u64>) -> Start {
    let exhibit = exhibit(name);
    let search = Search::of(way, &exhibit).expect("it fits");
    let never = AtomicBool::new(false);
    let sightings = Sightings::of(&search, exhibit.property, seeds, &never);
    Start::of(&search, exhibit.property, sightings).expect("each run ends")
}

/// What fails after Ctrl-C is not kept.
#[test]
fn search_that_is_stopped_has_no_result() {
    let exhibit = exhibit("no-lease");
    let search = Search::of(Way::ALL[0], &exhibit).expect("it fits");
    let stop = AtomicBool::new(true);
    let sightings = Sightings::of(&search, exhibit.property, 0..1, &stop);
    assert!(Start::of(&search, exhibit.property, sightings).is_err());
}

#[test]
fn every_search_fits_its_workload() {
    let strategies = Strategies::plan(&[], 1, 1).expect("they fit");
    assert_eq!(
        strategies.searches.len(),
        Way::ALL.len() * strategies.exhibits.len()
    );
    assert!(strategies.exhibits.len() > 10);
}

#[test]
fn an_exhibit_with_a_scenario_is_refused() {
    let refused = Strategies::plan(&["wrong-lease".into()], 1, 1).err();
    let refused = refused.expect("no search finds it").to_string();
    assert!(
        refused.starts_with("wrong-lease: a scenario shows it"),
        "{refused}"
    );
}

#[test]
fn an_unconditional_renewal_is_found_in_every_way() {
    for way in Way::ALL {
        let limit = match way {
            Way::Place(Strategy::Steps | Strategy::Mixed) | Way::Late => 80,
            _ => 12,
        };
        let found = start("unconditional-renewal", way, 0..limit);
        let (violated, shown) = (
            found.violated.expect("violated"),
            found.shown.expect("shown"),
        );
        assert!(
            violated.runs <= shown.runs && shown.runs <= limit,
            "{way:?}: {found:?}"
        );
    }
}

/// Each sixteen seeds take one run without faults.
#[test]
fn runs_that_choose_others_are_counted() {
    let exhibit = exhibit("no-lease");
    let search = Search::of(Way::Place(Strategy::Steps), &exhibit).expect("it fits");
    let never = AtomicBool::new(false);
    for first in [0, 80, 160] {
        let sightings = Sightings::of(&search, exhibit.property, first..first + 80, &never);
        let sightings: Vec<Sighting> = sightings.collect::<Result<_, _>>().expect("each run ends");
        assert!(!sightings.is_empty());
        for Sighting { seed, cost, .. } in sightings {
            let seeds = seed + 1 - first;
            assert_eq!(cost.runs, seeds + seeds.div_ceil(16), "{seed}");
        }
    }
}

/// Only late messages are placed, and none where the exhibit asks for another kind of fault.
#[test]
fn only_messages_are_late() {
    let drawn = |name: &str, seed| {
        let search = Search::of(Way::Late, &exhibit(name)).expect("it fits");
        let chosen = search.choose(seed, &Rehearsals::of_threads(1));
        let chosen = chosen.expect("it ends");
        chosen.drawn.schedule.faults
    };
    for seed in 0..20 {
        let faults = drawn("unconditional-renewal", seed);
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|it| it.kind() == FaultKind::SlowLink));
        assert_eq!(drawn("node-clock-jump", seed), []);
    }
}

/// A suspension longer than the lease violates it too, whether or not the lock subtracts the time it waited.
#[test]
fn a_violation_of_the_mended_lock_shows_no_mechanism() {
    let of = |first: u64| {
        start(
            "late-reply",
            Way::Place(Strategy::Steps),
            first * 60..(first + 1) * 60,
        )
    };
    let starts: Vec<Start> = (0..4).map(of).collect();
    let violated = starts.iter().filter(|it| it.violated.is_some()).count();
    let shown = starts.iter().filter(|it| it.shown.is_some()).count();
    assert!(violated > shown, "{starts:?}");
}
