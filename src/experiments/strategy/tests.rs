//! What strategies draw.

use locklab_history::{Fault, FaultKind};
use locklab_model::scenario::{Scenario, load};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

use super::{Kinds, Strategy};
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

#[test]
fn uniform_runs_are_those_of_the_scenario() {
    let scenario = campaign();
    for seed in 0..3 {
        let chosen = Strategy::Uniform
            .choose(&scenario, seed, &Kinds::All)
            .expect("drawn");
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
            let chosen = strategy
                .choose(&scenario, seed, &Kinds::All)
                .expect("it ends");
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
        let chosen = strategy
            .choose(&scenario, seed, &Kinds::All)
            .expect("drawn");
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
            .choose(&only, seed, &Kinds::All)
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

#[test]
fn one_to_three_faults_are_placed_at_steps_all_over_a_run() {
    let scenario = short();
    let bare = judged::run(&scenario, 0, Keep::STEPS).expect("it ends");
    let all = bare.steps.expect("they are kept").steps.len() as u64;
    let (mut numbers, mut first, mut firsts) = ([0; 3], 0, Vec::new());
    for seed in 0..300 {
        let chosen = Strategy::Steps
            .choose(&scenario, seed, &Kinds::All)
            .expect("it ends");
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
        let only = Kinds::Named("clock forwards".into());
        let chosen = Strategy::Steps
            .choose(&scenario, seed, &only)
            .expect("it ends");
        let faults = &chosen.drawn.schedule.faults;
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|it| it.kind() == FaultKind::ClockStep));
    }
}
