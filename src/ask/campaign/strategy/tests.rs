//! What strategies draw.

use locklab_history::{Fault, FaultKind};
use locklab_model::scenario::{Scenario, load};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

use super::{Chosen, Kinds, Rehearsals, Source, Strategy, Turn, Workload};
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

fn source(strategy: Strategy, scenario: Scenario) -> Source {
    let turns = strategy.turns(&Kinds::All).into_iter();
    Source::new(0, turns.map(|turn| (turn, scenario.clone())).collect())
}

/// The run of a seed, chosen without those before it.
fn chosen(source: &Source, seed: u64) -> Chosen<'_> {
    let rehearsals = Rehearsals::of_threads(1);
    source.choose(seed, &rehearsals).expect("it ends")
}

#[test]
fn uniform_runs_are_those_of_the_scenario() {
    let source = source(Strategy::Uniform, campaign());
    for seed in 0..3 {
        let chosen = chosen(&source, seed);
        let run = chosen.run(Keep::default()).expect("it ends");
        let plain = judged::run(source.scenario(), seed, Keep::default()).expect("it ends");
        assert_eq!(run, plain, "seed {seed}");
    }
}

#[test]
fn a_strategy_draws_the_same_run_twice_and_another_for_another_seed() {
    for strategy in Strategy::ALL {
        let source = source(strategy, campaign());
        let schedule = |seed| chosen(&source, seed).drawn.schedule;
        assert_eq!(schedule(5), schedule(5), "{strategy:?}");
        assert_ne!(schedule(5), schedule(6), "{strategy:?}");
    }
}

#[test]
fn a_swarm_leaves_kinds_out_and_none_in_all_seeds() {
    let scenario = campaign();
    let kinds = |strategy: Strategy, seed| {
        let source = source(strategy, scenario.clone());
        let faults = chosen(&source, seed).drawn.schedule.faults;
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
    let source = source(Strategy::Swarm, pauses());
    let number = |seed| chosen(&source, seed).drawn.schedule.faults.len();
    let numbers: Vec<usize> = (0..100).map(number).collect();
    let plain = |seed| source.scenario().drawn(seed).schedule.faults.len();
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
    let source = source(Strategy::Steps, scenario);
    for seed in 0..300 {
        let chosen = chosen(&source, seed);
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
    let only = Kinds::Named("clock forwards".into());
    let turn = Turn::new(Strategy::Steps, Workload::Once, only);
    let source = Source::new(0, vec![(turn, short())]);
    for seed in 0..20 {
        let faults = chosen(&source, seed).drawn.schedule.faults;
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|it| it.kind() == FaultKind::ClockStep));
    }
}

/// Only the faults differ within a group: the runs of those without any would be one.
#[test]
fn seeds_of_a_group_share_a_rehearsal_and_no_others_do() {
    let scenario = short();
    let source = source(Strategy::Steps, scenario.clone());
    let rehearsals = Rehearsals::of_threads(1);
    let made = |seed| {
        let chosen = source.choose(seed, &rehearsals).expect("it ends");
        (chosen.world_seed, rehearsals.count())
    };
    assert_eq!(made(20), (16, 1), "in the middle of a group");
    assert_eq!([16, 31].map(made), [(16, 1); 2]);
    assert_eq!([15, 32].map(made), [(0, 2), (32, 3)]);
    let plain = |seed| judged::run(&scenario, seed, Keep::default()).expect("it ends");
    let bare = |seed| {
        let mut chosen = chosen(&source, seed);
        chosen.drawn.schedule.faults.clear();
        chosen.run(Keep::default()).expect("it ends").trace_hash
    };
    assert_eq!(bare(20), plain(16).trace_hash);
    assert_ne!(bare(20), bare(32));
    let turn = Turn::new(Strategy::Steps, Workload::Once, Kinds::All);
    let other = Source::new(1, vec![(turn, scenario)]);
    other.choose(20, &rehearsals).expect("it ends");
    assert_eq!(rehearsals.count(), 4, "another search has its own");
}

/// What other seeds left behind, or what was thrown away, changes nothing.
#[test]
fn run_at_steps_does_not_depend_on_the_seeds_before_it() {
    let source = source(Strategy::Steps, short());
    let rehearsals = Rehearsals::of_threads(1);
    let seeds = [3, 40, 100, 200, 300, 400, 7, 41, 3, 15];
    for seed in seeds {
        let among_others = source.choose(seed, &rehearsals).expect("it ends");
        let alone = chosen(&source, seed);
        let run = |chosen: Chosen<'_>| chosen.run(Keep::default()).expect("it ends");
        assert_eq!(run(among_others), run(alone), "seed {seed}");
    }
}

/// The mix on its workloads, and its turns alone.
fn mix(kinds: &Kinds) -> (Source, [Source; 3]) {
    let ways = || {
        let way = |turn: Turn| {
            let sets = turn.workload.sets();
            let scenario = load(turn.workload.scenario(), &sets).expect("it ships");
            (turn, scenario)
        };
        Strategy::Mixed.turns(kinds).into_iter().map(way)
    };
    let alone: Vec<Source> = ways().map(|way| Source::new(0, vec![way])).collect();
    let alone = alone.try_into().expect("three turns");
    (Source::new(0, ways().collect()), alone)
}

#[test]
fn the_turn_with_late_messages_places_nothing_else() {
    let (_, [late, ..]) = mix(&Kinds::All);
    for seed in 0..20 {
        let faults = chosen(&late, seed).drawn.schedule.faults;
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|it| it.kind() == FaultKind::SlowLink));
    }
}

#[test]
fn seed_of_a_mix_is_the_run_of_its_turn() {
    let (mix, [late, steps, swarm]) = mix(&Kinds::All);
    let seeds = [
        (0, &late),
        (15, &late),
        (16, &steps),
        (31, &steps),
        (47, &late),
        (62, &steps),
        (63, &swarm),
        (64, &late),
        (127, &swarm),
    ];
    for (seed, alone) in seeds {
        let run = |source| {
            let chosen = chosen(source, seed);
            chosen.run(Keep::default()).expect("it ends")
        };
        assert_eq!(run(&mix), run(alone), "seed {seed}");
    }
    let of_turn = |turn| (1000..1064).filter(|seed| mix.turn(*seed) == turn).count();
    assert_eq!([0, 1, 2].map(of_turn), [32, 31, 1]);
}

/// Late messages are left out where others are asked for.
#[test]
fn mix_has_only_the_kinds_that_are_asked_for() {
    let kinds = |asked: FaultKind, seed| {
        let (mix, _) = mix(&Kinds::Of(vec![asked]));
        let faults = chosen(&mix, seed).drawn.schedule.faults;
        assert!(!faults.is_empty(), "{asked:?}, seed {seed}");
        faults.iter().all(|fault| fault.kind() == asked)
    };
    for seed in [0, 16] {
        assert!(kinds(FaultKind::Pause, seed));
        assert!(kinds(FaultKind::SlowLink, seed));
    }
}
