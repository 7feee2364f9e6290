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

/// As for three rates together.
fn criteria() -> Criteria {
    Criteria {
        within: WITHIN,
        rates: 3,
        joint: Level::joint(3),
        different: 1e-4,
    }
}

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
    } = Comparison::of(&scenario(), simulation, &confirmed(real, late), criteria());
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
    assert_eq!(row.deciding_runs, Some(95));
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
    // 25 % beside 50 % differ, but perhaps by less than 20 points.
    let far = simulated(0..120, |seed| seed % 4 == 0, SOME_NS);
    let (row, _) = compare(&simulation, far);
    assert_eq!(row.finding, Finding::Unclear);
    assert!(row.p < 1e-4 && row.deciding_runs > Some(1000), "{row:?}");
    let further = simulated(0..120, |seed| seed % 20 == 0, SOME_NS);
    let (row, _) = compare(&simulation, further);
    assert_eq!(row.finding, Finding::Differ);
}

/// As `tests/agreement.rs` compares them.
#[test]
fn six_runs_that_all_end_otherwise_differ_from_twenty_simulated_ones() {
    let simulation = Simulation {
        prompt: simulated(0..20, |_| true, SOME_NS),
        twins: Simulated::default(),
    };
    for (runs, finding) in [(6, Finding::Differ), (1, Finding::Unclear)] {
        let (row, _) = compare(&simulation, simulated(0..runs, |_| false, SOME_NS));
        assert_eq!(row.finding, finding, "{runs}: {row:?}");
    }
}

#[test]
fn few_pairs_that_agree_are_unclear_and_say_how_many_would_decide() {
    let simulation = simulation(|_| true, |_| true);
    for (pairs, finding, more) in [
        (8, Finding::Unclear, Some(16)),
        (15, Finding::Unclear, Some(16)),
        (16, Finding::Equivalent, None),
        (20, Finding::Equivalent, None),
    ] {
        let (row, _) = compare(&simulation, simulated(0..pairs, |_| true, SOME_NS));
        assert_eq!((row.finding, row.deciding_runs), (finding, more), "{pairs}");
    }
    let (row, _) = compare(&simulation, simulated(0..0, |_| true, SOME_NS));
    assert_eq!((row.finding, row.deciding_runs), (Finding::Unclear, None));
}

/// Rows that were published as unclear: jepsen/j2-adds among 469 rates with 19 pairs, of which 15 were unlike, as soon
/// as there are some more of the kind; and 0 of 302 simulated runs beside 10 of 10 real ones.
#[test]
fn what_was_published_as_unclear_differs() {
    let all = Criteria {
        rates: 469,
        joint: Level::joint(469),
        ..criteria()
    };
    let adds = |times: u64| {
        Difference::Paired(Pairs {
            both: 4 * times,
            only_first: 15 * times,
            only_second: 0,
            neither: 0,
        })
    };
    assert_eq!(adds(1).deciding_runs(all), Some(32));
    assert_eq!(adds(1).finding(criteria()), Finding::Differ);
    assert_eq!(adds(6).finding(all), Finding::Differ);
    let strikes_again = Difference::Paired(Pairs {
        only_second: 10,
        ..Pairs::default()
    });
    assert_eq!(strikes_again.finding(criteria()), Finding::Differ);
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
        unbounded: vec![],
        durations: vec![Observable::Grant],
        why: "  a test\n".into(),
    });
    let simulation = simulation(|_| true, |_| true);
    let compared = |violates: fn(u64) -> bool, longer_ns| {
        let real = simulated(0..20, violates, |seed| SOME_NS(seed) + longer_ns);
        Comparison::of(&scenario, &simulation, &confirmed(real, late()), criteria())
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

/// k8-forgets: whatever is counted, the rate has no bound, and the others have theirs.
#[test]
fn rate_without_a_bound_neither_differs_nor_is_equivalent() {
    let mut scenario = scenario();
    scenario.on_redis = Some(OnRedis {
        differs: vec![],
        unbounded: vec![RESOURCE],
        durations: vec![],
        why: "a race".into(),
    });
    let simulation = simulation(|_| true, |_| true);
    for violates in [is_even, |_| true, |_| false] {
        let real = confirmed(simulated(0..20, violates, SOME_NS), late());
        let found = Comparison::of(&scenario, &simulation, &real, criteria());
        assert_eq!(found.rates[0].finding, Finding::Unbounded);
        assert_eq!(found.finding(), Finding::Unbounded);
        assert_eq!(found.explanation(&scenario), Some("a race"));
        assert!(!found.is_open());
    }
}

/// Three tests for each of seven durations.
#[test]
fn the_more_is_compared_the_clearer_a_difference_must_be() {
    let one = Criteria::of([&scenario()].into_iter(), WITHIN);
    assert!((one.different - 0.01 / 21.0).abs() < 1e-9);
    assert_eq!((one.rates, one.joint), (1, Level::SINGLE));
    let two = Criteria::of([&scenario(), &scenario()].into_iter(), WITHIN);
    assert!((two.different - one.different / 2.0).abs() < 1e-9);
    assert_eq!((two.rates, two.joint), (2, Level::joint(2)));
}

/// The criteria that `confirm` and `reproduce` can use: narrow and wide bounds, few rates and many.
fn all_criteria() -> impl Iterator<Item = Criteria> {
    let bounds = [0.05, 0.1, 0.2, 0.35, 0.5];
    bounds.into_iter().flat_map(|within| {
        [1, 3, 40, 469, 5000].map(|rates| Criteria {
            within,
            rates,
            joint: Level::joint(rates),
            different: 1e-4,
        })
    })
}

/// All outcomes of this many pairs.
fn all_pairs(count: u64) -> impl Iterator<Item = Pairs> {
    (0..=count).flat_map(move |only_first| {
        (0..=count - only_first).flat_map(move |only_second| {
            let like = count - only_first - only_second;
            // Tango's interval does not depend on how the pairs are divided whose runs are alike.
            [(like, 0), (like / 2, like - like / 2)].map(|(both, neither)| Pairs {
                both,
                only_first,
                only_second,
                neither,
            })
        })
    })
}

/// The finding, and that what a table prints says the same: the interval lies within the bound, outside, or neither.
#[track_caller]
fn consistent(difference: Difference, criteria: Criteria) -> Finding {
    let finding = difference.finding(criteria);
    let level = match finding {
        Finding::Equivalent => Level::SINGLE,
        _ => criteria.joint,
    };
    let (printed, bound) = (difference.interval(level), criteria.within);
    let (is_outside, is_within) = (
        printed.low > bound || printed.high < -bound,
        -bound <= printed.low && printed.high <= bound,
    );
    let told = format!("{difference:?} {criteria:?}: {printed:?}, {finding:?}");
    assert_eq!(is_outside, finding == Finding::Differ, "{told}");
    assert!(finding != Finding::Equivalent || is_within, "{told}");
    finding
}

/// Whether a difference stays one when its outcome becomes more extreme.
fn stays(before: Finding, after: Finding) -> bool {
    before != Finding::Differ || after == Finding::Differ
}

#[test]
fn pairs_differ_where_the_interval_lies_outside_the_bound_and_more_extreme_ones_do_too() {
    for criteria in all_criteria() {
        for count in [1, 2, 5, 10, 19, 24] {
            for pairs in all_pairs(count) {
                let finding = consistent(Difference::Paired(pairs), criteria);
                // One pair more has the outcome in which there are more already.
                let further = match pairs.only_second.cmp(&pairs.only_first) {
                    std::cmp::Ordering::Greater => [1, 0],
                    std::cmp::Ordering::Less => [0, 1],
                    std::cmp::Ordering::Equal => continue,
                };
                let [second, first] = further;
                let taken = [
                    (pairs.both > 0).then_some((1, 0, 0)),
                    (pairs.neither > 0).then_some((0, 1, 0)),
                    (pairs.only_first * second + pairs.only_second * first > 0)
                        .then_some((0, 0, 1)),
                ];
                for (both, neither, other) in taken.into_iter().flatten() {
                    let more = Pairs {
                        both: pairs.both - both,
                        neither: pairs.neither - neither,
                        only_first: pairs.only_first + first - other * second,
                        only_second: pairs.only_second + second - other * first,
                    };
                    let after = Difference::Paired(more).finding(criteria);
                    assert!(stays(finding, after), "{pairs:?} {more:?} {criteria:?}");
                }
            }
        }
    }
}

#[test]
fn samples_differ_where_the_interval_lies_outside_the_bound_and_more_extreme_ones_do_too() {
    for criteria in all_criteria() {
        for (runs, real_runs) in [(10, 10), (24, 6), (80, 20), (180, 20), (302, 10), (80, 120)] {
            for violated in [0, 1, runs / 3, runs / 2, runs - 1, runs] {
                let world = Rate { violated, runs };
                let found = |violated| {
                    let real = Rate {
                        violated,
                        runs: real_runs,
                    };
                    consistent(Difference::Separate { world, real }, criteria)
                };
                let findings: Vec<Finding> = (0..=real_runs).map(found).collect();
                // It differs below some number and above another, and nowhere in between.
                let middle = (violated * real_runs / runs) as usize;
                for place in 1..=middle {
                    assert!(stays(findings[place], findings[place - 1]), "{world:?}");
                }
                for place in middle + 1..findings.len() {
                    assert!(stays(findings[place - 1], findings[place]), "{world:?}");
                }
            }
        }
    }
}

#[test]
fn opposite_outcomes_differ_after_every_number_of_runs_that_is_not_refused() {
    for criteria in all_criteria() {
        let fewest = criteria.fewest_runs();
        assert!(fewest < 150, "{criteria:?}: {fewest}");
        for runs in (fewest..fewest + 200).chain([1000, 10_000]) {
            let all = |violated| Rate { violated, runs };
            // Where samples are compared, there are as many simulated runs.
            for difference in [
                Difference::Paired(Pairs {
                    only_first: runs,
                    ..Pairs::default()
                }),
                Difference::Paired(Pairs {
                    only_second: runs,
                    ..Pairs::default()
                }),
                Difference::Separate {
                    world: all(0),
                    real: all(runs),
                },
                Difference::Separate {
                    world: all(runs),
                    real: all(0),
                },
            ] {
                let finding = difference.finding(criteria);
                assert_eq!(finding, Finding::Differ, "{difference:?} {criteria:?}");
            }
        }
        let one_less = Difference::Paired(Pairs {
            only_second: fewest - 1,
            ..Pairs::default()
        });
        assert_ne!(one_less.finding(criteria), Finding::Differ);
    }
}

/// As many runs as are said to decide do, if their results are alike.
#[test]
fn number_of_runs_that_would_decide_decides() {
    let mut decided = 0;
    for criteria in all_criteria() {
        for pairs in all_pairs(16).step_by(2) {
            let difference = Difference::Paired(pairs);
            let more = difference.deciding_runs(criteria);
            match difference.finding(criteria) {
                Finding::Unclear => {
                    let Some(runs) = more else {
                        // The difference is at the bound, or nearly.
                        let apart = pairs.only_second.abs_diff(pairs.only_first) as f64 / 16.0;
                        assert!(
                            (apart - criteria.within).abs() < 0.03,
                            "{pairs:?} {criteria:?}"
                        );
                        continue;
                    };
                    assert!(runs > 16);
                    let many = difference.of(runs).finding(criteria);
                    assert_ne!(many, Finding::Unclear, "{pairs:?} {criteria:?}: {runs}");
                    decided += 1;
                }
                _ => assert_eq!(more, None),
            }
        }
    }
    assert!(decided > 1000, "{decided}");
}

/// All outcomes of 23 pairs of runs with equal rates, by their exact probability: 469 rates of this kind would hardly
/// ever be found to differ.
#[test]
fn equal_rates_are_not_found_to_differ() {
    let criteria = Criteria {
        rates: 469,
        joint: Level::joint(469),
        ..criteria()
    };
    // Of each pair, the simulated run alone violates the property with this probability, and the real one too.
    for alone in [0.01, 0.05, 0.1, 0.25] {
        let mut differs = 0.0;
        for pairs in all_pairs(23).step_by(2) {
            if Difference::Paired(pairs).finding(criteria) == Finding::Differ {
                let (first, second) = (pairs.only_first, pairs.only_second);
                let mut probability = f64::powi(1.0 - 2.0 * alone, (23 - first - second) as i32);
                let choices = (1..=23_u64).rev().take((first + second) as usize);
                for (place, choice) in choices.enumerate() {
                    let place = place as u64;
                    let of = if place < first { place } else { place - first };
                    probability *= alone * choice as f64 / (of + 1) as f64;
                }
                differs += probability;
            }
        }
        assert!(469.0 * differs < 0.05, "{alone}: {differs}");
    }
}
