//! What strategies draw.

use std::ops::Range;

use locklab_evidence::Weighted;
use locklab_history::{Fault, FaultKind, Schedule, Start};
use locklab_model::scenario::{Scenario, load};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_values::units::{NS_PER_MS, ns_from_ms};

use super::hazard::Times;
use super::{Kinds, Strategy, hazard, steps};
use crate::place::{STANDARD, standard_sets};

fn campaign() -> Scenario {
    load("problems/campaign", &[]).expect("it ships")
}

/// A campaign of one kind.
fn pauses() -> Scenario {
    let only = "campaign.faults=[\"pause\"]";
    load("problems/campaign", &[only.into()]).expect("it is valid")
}

/// Two clients that take the lock in turn, which is over after some 100 ms.
fn short() -> Scenario {
    load(STANDARD, &standard_sets()).expect("it ships")
}

fn starts_ns(schedule: &Schedule) -> Vec<u64> {
    let start = |fault: &Fault| match fault.start {
        Start::At { at_ns } => at_ns,
        Start::After { .. } | Start::AtStep { .. } => panic!("placed by time: {fault:?}"),
    };
    schedule.faults.iter().map(start).collect()
}

#[test]
fn uniform_runs_are_those_of_the_scenario() {
    let scenario = campaign();
    for seed in 0..3 {
        let chosen = Strategy::Uniform.choose(&scenario, seed).expect("drawn");
        let run = chosen.run(seed, Keep::default()).expect("it ends");
        let plain = judged::run(&scenario, seed, Keep::default()).expect("it ends");
        assert_eq!(run, plain, "seed {seed}");
    }
}

#[test]
fn a_strategy_draws_the_same_run_twice_and_another_for_another_seed() {
    let scenario = campaign();
    for strategy in Strategy::ALL {
        let schedule = |seed| {
            let chosen = strategy.choose(&scenario, seed).expect("it ends");
            chosen.drawn.schedule
        };
        assert_eq!(schedule(5), schedule(5), "{strategy:?}");
        assert_ne!(schedule(5), schedule(6), "{strategy:?}");
    }
}

#[test]
fn a_swarm_leaves_kinds_out_and_none_in_all_seeds() {
    let scenario = campaign();
    let kinds = |strategy: Strategy, seed| {
        let chosen = strategy.choose(&scenario, seed).expect("drawn");
        let faults = chosen.drawn.schedule.faults;
        let mut kinds: Vec<FaultKind> = faults.iter().map(Fault::kind).collect();
        kinds.sort_by_key(FaultKind::name);
        kinds.dedup();
        kinds
    };
    let number = |strategy| -> usize { (0..300).map(|seed| kinds(strategy, seed).len()).sum() };
    let (uniform, swarm) = (number(Strategy::Uniform), number(Strategy::Swarm));
    assert!(4 * swarm < 3 * uniform, "{swarm} of {uniform}");
    let drawn: Vec<FaultKind> = (0..300)
        .flat_map(|seed| kinds(Strategy::Swarm, seed))
        .collect();
    for kind in &scenario.campaign.as_ref().expect("a campaign").faults {
        let seeds = drawn.iter().filter(|it| *it == kind).count();
        assert!((10..200).contains(&seeds), "{kind:?}: {seeds}");
    }
}

#[test]
fn a_swarm_is_dense_in_some_seeds_and_sparse_in_others() {
    let only = pauses();
    let number = |seed| {
        Strategy::Swarm
            .choose(&only, seed)
            .expect("drawn")
            .drawn
            .schedule
            .faults
            .len()
    };
    let numbers: Vec<usize> = (0..100).map(number).collect();
    let plain = |seed| only.drawn(seed).schedule.faults.len();
    let most = (0..100).map(plain).max().expect("seeds");
    assert!(numbers.iter().any(|it| *it > most), "{numbers:?}");
    assert!(numbers.iter().any(|it| *it <= 3), "{numbers:?}");
}

/// Periods in which the lock is held, in milliseconds.
const HELD_MS: [Range<u64>; 2] = [6_000..6_400, 9_000..9_800];

fn held() -> Vec<Range<u64>> {
    HELD_MS
        .map(|period| ns_from_ms(period.start)..ns_from_ms(period.end))
        .into()
}

fn is_held(at_ns: u64) -> bool {
    HELD_MS
        .iter()
        .any(|period| period.contains(&(at_ns / NS_PER_MS)))
}

/// The faults of a biased campaign, and their weight.
fn biased(scenario: &Scenario, seed: u64) -> (Schedule, f64) {
    let mut times = Times::new(seed, held());
    let drawn = scenario.drawn_after(seed, &mut |quiet, since_ns, stream| {
        times.quiet_ns(quiet, since_ns, stream)
    });
    (drawn.schedule, times.weight())
}

/// The rates of some events, each by 4,000 weighed schedules and by as many of the scenario: they differ by
/// less than 4.5 standard errors.
#[test]
fn weighed_schedules_have_the_rates_of_the_scenario() {
    type Is = fn(&Schedule) -> bool;
    let events: [(&str, Is); 4] = [
        ("any run", |_| true),
        ("the first fault meets a holder", |it| {
            is_held(starts_ns(it)[0])
        }),
        ("the third fault is late", |it| {
            let third = starts_ns(it).get(2).copied();
            third.is_some_and(|at_ns| at_ns > ns_from_ms(14_000))
        }),
        ("at least five faults", |it| it.faults.len() >= 5),
    ];
    let pauses = pauses();
    let mut rates = events.map(|_| (Weighted::default(), Weighted::default()));
    for seed in 0..4_000 {
        let (schedule, weight) = biased(&pauses, seed);
        assert!((0.0..=hazard::HEAVIEST).contains(&weight), "{weight}");
        let plain_schedule = pauses.drawn(seed).schedule;
        for ((_, is_it), (weighed, plain)) in events.iter().zip(&mut rates) {
            weighed.add(is_it(&schedule).then_some(weight));
            plain.add(is_it(&plain_schedule).then_some(1.0));
        }
    }
    for ((what, _), (weighed, plain)) in events.iter().zip(&rates) {
        let error = (weighed.variance() + plain.variance()).sqrt();
        let (weighed, plain) = (weighed.rate(), plain.rate());
        let off = (weighed - plain).abs();
        assert!(off < 4.5 * error, "{what}: {weighed} for {plain} ± {error}");
    }
}

/// Where the campaign has the first fault while the lock is held in a quarter of the seeds, half of the rest
/// is moved there.
#[test]
fn biased_faults_begin_while_the_lock_is_held() {
    let pauses = pauses();
    let share = |first_ns: &dyn Fn(u64) -> u64| {
        (0..2_000).filter(|seed| is_held(first_ns(*seed))).count() as f64 / 2_000.0
    };
    let plain = share(&|seed| starts_ns(&pauses.drawn(seed).schedule)[0]);
    let biased = share(&|seed| starts_ns(&biased(&pauses, seed).0)[0]);
    let expected = plain + (1.0 - plain) / 2.0;
    // One standard deviation of the difference is 0.015.
    assert!(
        (biased - expected).abs() < 0.06,
        "{plain}: {biased} for {expected}"
    );
}

#[test]
fn the_hazard_of_a_scenario_is_when_its_clients_hold_the_lock() {
    let sets = [
        "workload.rounds=1".into(),
        "campaign.hosts=\"given\"".into(),
    ];
    let scenario = load("problems/campaign", &sets).expect("it ships");
    // All clients have had the lock before the first fault can begin, so nothing is biased.
    let chosen = Strategy::Hazard.choose(&scenario, 1).expect("it ends");
    assert_eq!((chosen.weight, chosen.rehearsals), (1.0, 1));
    let scenario = campaign();
    let weights = (0..6).map(|seed| {
        let chosen = Strategy::Hazard.choose(&scenario, seed).expect("it ends");
        (chosen.weight * 1000.0).round() as u64
    });
    let mut weights: Vec<u64> = weights.collect();
    weights.sort_unstable();
    weights.dedup();
    assert!(weights.len() > 1, "{weights:?}");
}

#[test]
fn one_to_three_faults_are_placed_at_steps_all_over_a_run() {
    let scenario = short();
    let bare = judged::run(&scenario, 0, Keep::STEPS).expect("it ends");
    let all = bare.steps.expect("they are kept").steps.len() as u64;
    let (mut numbers, mut first, mut firsts) = ([0; 3], 0, Vec::new());
    for seed in 0..300 {
        let chosen = Strategy::Steps.choose(&scenario, seed).expect("it ends");
        assert!(
            chosen.space.steps.abs_diff(all) < all / 2,
            "{:?}",
            chosen.space
        );
        assert!(chosen.space.placements > 10 * chosen.space.steps);
        let faults = chosen.drawn.schedule.faults;
        numbers[faults.len() - 1] += 1;
        let start = format!("{:?}", faults[0].start);
        first += usize::from(start.contains("nth: 1"));
        firsts.push(start);
    }
    // Expected are 150, 100 and 50; one standard deviation is 6 to 9.
    assert!((115..185).contains(&numbers[0]), "{numbers:?}");
    assert!((65..135).contains(&numbers[1]), "{numbers:?}");
    assert!((20..80).contains(&numbers[2]), "{numbers:?}");
    firsts.sort();
    firsts.dedup();
    assert!(firsts.len() > 30, "{firsts:?}");
    assert!(first < 290, "{first}");
}

#[test]
fn only_the_kind_that_is_asked_for_is_placed() {
    let scenario = short();
    for seed in 0..20 {
        let only = Kinds::Only("clock forwards");
        let chosen = steps::choose(&scenario, seed, only).expect("it ends");
        let faults = &chosen.drawn.schedule.faults;
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|it| it.kind() == FaultKind::ClockStep));
    }
}

#[test]
fn faults_at_steps_leave_the_healed_phase_of_a_campaign_alone() {
    let scenario = campaign();
    let chosen = Strategy::Steps.choose(&scenario, 3).expect("it ends");
    let run = chosen.run(3, Keep::default()).expect("it ends");
    let began = run
        .history
        .records
        .iter()
        .filter(|record| matches!(record.event, locklab_history::Event::Fault { .. }));
    let began: Vec<u64> = began.map(|record| record.at_ns).collect();
    assert!(!began.is_empty());
    assert!(
        began.iter().all(|at_ns| *at_ns >= ns_from_ms(5_000)),
        "{began:?}"
    );
}
