//! What is found for rates and durations that are alike, apart, or too few.

use super::*;
use crate::simulated::Simulated;
use locklab_model::scenario::{OnRedis, load};
use locklab_vecmap::VecMap;

const RESOURCE: Property = Property::Resource;

/// K1 with one predicted property.
fn scenario() -> Scenario {
    let mut scenario = load("kleppmann/k1", &[]).expect("it ships");
    scenario.expect.retain(|property, _| *property == RESOURCE);
    scenario
}

/// Runs with these seeds, of which some violate the property, and how long each takes.
fn simulated(
    seeds: std::ops::Range<u64>,
    violates: impl Fn(u64) -> bool,
    takes_ns: impl Fn(u64) -> u64,
) -> Simulated {
    let mut simulated = Simulated::default();
    let tally = simulated.cell.tallies.entry(RESOURCE).or_default();
    for seed in seeds {
        let is_violated = violates(seed);
        match is_violated {
            true => tally.violated += 1,
            false => tally.holds += 1,
        }
        let run = Sketch {
            violated: if is_violated { vec![RESOURCE] } else { vec![] },
            durations_ns: VecMap::from([(Observable::Grant, takes_ns(seed))]),
            trace_hash: 0,
        };
        simulated.runs.insert(seed, run);
    }
    simulated
}

fn confirmed(runs: Simulated, late: Simulated) -> Confirmed {
    Confirmed {
        real: runs.cell,
        runs: runs.runs,
        late,
        ..Confirmed::default()
    }
}

const SOME_NS: fn(u64) -> u64 = |seed| 50 * NS_PER_MS + seed * 1000;

fn is_even(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// 300 simulated runs; the twins have the outcomes of `twins`.
fn simulation(violates: fn(u64) -> bool, twins: fn(u64) -> bool) -> Simulation {
    Simulation {
        prompt: simulated(0..300, violates, SOME_NS),
        twins: simulated(0..100, twins, SOME_NS),
    }
}

const CRITERIA: Criteria = Criteria {
    within: WITHIN,
    different: 1e-4,
};

/// Simulated runs that are late by 5 ms.
fn late() -> Simulated {
    simulated(0..300, |_| true, |seed| SOME_NS(seed) + 5 * NS_PER_MS)
}

fn compare(simulation: &Simulation, real: Simulated) -> (RateRow, DurationRow) {
    compare_late(simulation, late(), real)
}

fn compare_late(
    simulation: &Simulation,
    late: Simulated,
    real: Simulated,
) -> (RateRow, DurationRow) {
    let Comparison {
        mut rates,
        mut durations,
    } = Comparison::of(&scenario(), simulation, &confirmed(real, late), CRITERIA);
    (rates.remove(0), durations.remove(0))
}

#[test]
fn outcomes_that_follow_from_the_faults_are_compared_in_pairs() {
    let simulation = simulation(is_even, is_even);
    let (row, _) = compare(&simulation, simulated(0..60, is_even, SOME_NS));
    assert_eq!(
        (row.method, row.finding),
        (Method::Paired, Finding::Equivalent)
    );
    assert!((row.apart() - 0.06).abs() < 1e-3);
    // The same rate in the other runs: no pair is alike, and that is all that is known.
    let (row, _) = compare(
        &simulation,
        simulated(0..60, |seed| !is_even(seed), SOME_NS),
    );
    assert_eq!(
        (row.pairs.discordant(), row.finding),
        (60, Finding::Unclear)
    );
}

#[test]
fn outcomes_that_do_not_are_compared_with_runs_of_other_seeds() {
    let simulation = simulation(is_even, |seed| seed % 4 < 2);
    let real = simulated(0..120, |seed| seed % 4 < 2, SOME_NS);
    let (row, _) = compare(&simulation, real);
    assert_eq!(
        (row.method, row.finding),
        (Method::Separate, Finding::Equivalent)
    );
    assert!((0.10..0.12).contains(&row.apart()), "{row:?}");
    let far = simulated(0..120, |seed| seed % 4 == 0, SOME_NS);
    let (row, _) = compare(&simulation, far);
    assert_eq!(row.finding, Finding::Differ);
}

/// As `tests/agreement.rs` compares them.
#[test]
fn six_runs_that_all_end_otherwise_differ_from_twenty_simulated_ones() {
    let simulation = Simulation {
        prompt: simulated(0..20, |_| true, SOME_NS),
        twins: Simulated::default(),
    };
    for (runs, finding) in [(6, Finding::Differ), (2, Finding::Unclear)] {
        let (row, _) = compare(&simulation, simulated(0..runs, |_| false, SOME_NS));
        assert_eq!(row.finding, finding, "{runs}: {row:?}");
    }
}

#[test]
fn few_pairs_are_unclear_whatever_they_show() {
    let simulation = simulation(|_| true, |_| true);
    for (pairs, finding) in [(8, Finding::Unclear), (20, Finding::Equivalent)] {
        let (row, _) = compare(&simulation, simulated(0..pairs, |_| true, SOME_NS));
        assert_eq!(row.finding, finding, "{pairs}");
    }
    let (row, _) = compare(&simulation, simulated(0..20, |_| false, SOME_NS));
    assert_eq!(row.finding, Finding::Differ);
    let (row, _) = compare(&simulation, simulated(0..0, |_| true, SOME_NS));
    assert_eq!(row.finding, Finding::Unclear);
}

#[test]
fn a_duration_between_the_prompt_and_the_late_one_is_no_difference() {
    let simulation = simulation(|_| true, |_| true);
    for (real_ns, differs) in [
        (0, false),
        (3 * NS_PER_MS, false),
        (5 * NS_PER_MS, false),
        (7 * NS_PER_MS, true),
    ] {
        let real = simulated(0..20, |_| true, |seed| SOME_NS(seed) + real_ns);
        let (_, row) = compare(&simulation, real);
        assert_eq!(row.finding.is_some(), differs, "{row:?}");
    }
    let early = simulated(0..20, |_| true, |seed| SOME_NS(seed) - 2 * NS_PER_MS);
    let (_, row) = compare(&simulation, early);
    assert_eq!(row.finding, Some(Finding::Differ));
}

/// What begins with a late grant is shorter if its end is not late.
#[test]
fn a_duration_that_lateness_shortens_is_no_difference() {
    let simulation = simulation(|_| true, |_| true);
    let late = || simulated(0..300, |_| true, |seed| SOME_NS(seed) - 5 * NS_PER_MS);
    for (shorter_ns, differs) in [(0, false), (3 * NS_PER_MS, false), (7 * NS_PER_MS, true)] {
        let real = simulated(0..20, |_| true, |seed| SOME_NS(seed) - shorter_ns);
        let (_, row) = compare_late(&simulation, late(), real);
        assert_eq!(row.finding.is_some(), differs, "{row:?}");
    }
}

/// Durations of 50 to 350 ms, which overlap almost whole, are 4 ms shorter or longer in every pair.
#[test]
fn pairs_show_what_is_small_beside_the_spread() {
    let spread = |seed: u64| (50 + seed * 101 % 300) * NS_PER_MS;
    let mut simulation = simulation(|_| true, |_| true);
    simulation.prompt = simulated(0..300, |_| true, spread);
    let late = || simulated(0..300, |_| true, |seed| spread(seed) + NS_PER_MS);
    for real in [
        simulated(0..20, |_| true, |seed| spread(seed) - 4 * NS_PER_MS),
        simulated(0..20, |_| true, |seed| spread(seed) + 4 * NS_PER_MS),
    ] {
        let (_, row) = compare_late(&simulation, late(), real);
        assert_eq!(row.finding, Some(Finding::Differ), "{row:?}");
    }
}

#[test]
fn a_duration_that_real_runs_never_have_differs() {
    let simulation = simulation(|_| true, |_| true);
    let mut real = simulated(0..20, |_| true, SOME_NS);
    real.runs
        .values_mut()
        .for_each(|run| run.durations_ns.clear());
    let (_, row) = compare(&simulation, real);
    assert_eq!((row.real.runs, row.finding), (0, Some(Finding::Differ)));
}

#[test]
fn a_scenario_with_rates_in_between_is_looked_at_later() {
    let runs = Runs {
        least: 20,
        most: 120,
    };
    let looks = |violates| simulation(violates, violates).first_look(&scenario(), runs);
    assert_eq!(looks(|_| true), 20);
    assert_eq!(looks(|_| false), 20);
    assert_eq!(looks(is_even), 60);
    assert_eq!(looks(|seed| seed % 10 == 0), 60);
}

#[test]
fn what_the_scenario_says_of_real_redis_explains_what_differs() {
    let mut scenario = scenario();
    scenario.on_redis = Some(OnRedis {
        differs: vec![RESOURCE],
        durations: vec![Observable::Grant],
        why: "  a test\n".into(),
    });
    let simulation = simulation(|_| true, |_| true);
    let compared = |violates: fn(u64) -> bool, longer_ns| {
        let real = simulated(0..20, violates, |seed| SOME_NS(seed) + longer_ns);
        Comparison::of(&scenario, &simulation, &confirmed(real, late()), CRITERIA)
    };
    let differs = compared(|_| false, 9 * NS_PER_MS);
    assert_eq!(differs.finding(), Finding::Explained);
    assert_eq!(differs.explanation(&scenario), Some("a test"));
    let late = compared(|_| true, 9 * NS_PER_MS);
    assert_eq!(late.finding(), Finding::Explained);
    let same = compared(|_| true, 0);
    assert_eq!(same.finding(), Finding::Equivalent);
    assert_eq!(same.explanation(&scenario), None);
}

/// 3 for each duration, in both looks.
#[test]
fn the_more_is_compared_the_clearer_a_difference_must_be() {
    let one = Criteria::of([&scenario()].into_iter(), WITHIN);
    assert!((one.different - 0.01 / 44.0).abs() < 1e-9);
    let two = Criteria::of([&scenario(), &scenario()].into_iter(), WITHIN);
    assert!((two.different - one.different / 2.0).abs() < 1e-9);
}
