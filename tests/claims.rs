//! Every shipped scenario gives the predicted result, and gives it twice.
//!
//! Few runs notice most violations where none is predicted; a rate that needs more must not differ after them.
//! With `LOCKLAB_LONG=1` all scenarios have the runs that `locklab run` gives them, which decide every
//! prediction.

use std::sync::atomic::AtomicBool;
use std::{env, mem};

use locklab_evidence::Judgement;
use locklab_model::scenario::{SHIPPED, Scenario, load};
use locklab_model::workload::WorkloadKind;
use locklab_results::Cell;
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::prediction::{Comparison, compare};

/// A few runs of thousands of adds each are enough: every one of them shows the result.
const SEEDS_OF_ADDS: u64 = 5;

/// Runs that are cheap enough to begin with, whatever a prediction needs.
const LEAST_SEEDS: u64 = 20;

/// More are left to `LOCKLAB_LONG=1`.
const MOST_SEEDS: u64 = 32;

fn job(scenario: &Scenario, seeds: u64) -> Job {
    Job {
        seeds: match scenario.workload.kind {
            WorkloadKind::Lock => 0..seeds,
            WorkloadKind::Adds => 0..SEEDS_OF_ADDS.min(seeds),
        },
        scenario: scenario.clone(),
        parameters: vec![],
    }
}

fn shipped() -> Vec<Scenario> {
    let load = |(name, _): &(&str, &str)| load(name, &[]).expect("a shipped scenario is sound");
    SHIPPED.iter().map(load).collect()
}

/// The runs that decide all predictions of a scenario if they are right, but for some that need more
/// than a hundred.
fn few(scenario: &Scenario) -> u64 {
    let predictions = scenario.expect.values();
    let needed = predictions.map(|prediction| prediction.runs_needed());
    let needed = needed.max().unwrap_or_default();
    needed.clamp(LEAST_SEEDS, MOST_SEEDS)
}

/// The comparisons of a scenario that does not come out as predicted after so many runs.
fn differing(scenario: &Scenario, cell: &Cell, seeds: u64) -> Option<Vec<Comparison>> {
    let mut comparisons = compare(scenario, cell);
    for property in scenario.expect.keys() {
        let is_judged = comparisons.iter().any(|it| it.property == *property);
        assert!(is_judged, "{}: {}", scenario.name, property.name());
    }
    let is_wrong = |it: &Comparison| match it.judgement {
        Judgement::AsPredicted | Judgement::Unpredicted => false,
        Judgement::Inconclusive => it.predicted.is_some_and(|it| it.runs_needed() <= seeds),
        Judgement::Differs => true,
    };
    comparisons.retain(is_wrong);
    (!comparisons.is_empty()).then_some(comparisons)
}

#[test]
fn every_scenario_comes_out_as_predicted() {
    let mut open = shipped();
    // Where that is undecided, because some runs show nothing, the usual runs decide.
    let mut rounds: Vec<fn(&Scenario) -> u64> = vec![few, Scenario::usual_seeds];
    if env::var_os("LOCKLAB_LONG").is_some() {
        rounds.remove(0);
    }
    let mut complaints = Vec::new();
    for seeds in rounds {
        let jobs: Vec<Job> = open.iter().map(|s| job(s, seeds(s))).collect();
        let cells = run(&jobs, &BatchOptions::quiet(2, &AtomicBool::new(false))).expect("no panic");
        complaints.clear();
        for (scenario, cell) in mem::take(&mut open).into_iter().zip(cells) {
            let cell = cell.expect("nobody stopped it");
            if let Some(comparisons) = differing(&scenario, &cell, seeds(&scenario)) {
                complaints.push(format!("{}: {comparisons:#?}", scenario.name));
                open.push(scenario);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Nor does it what a thread has run before.
#[test]
fn the_number_of_threads_changes_nothing() {
    let seeds = match env::var_os("LOCKLAB_LONG") {
        Some(_) => 20,
        None => 2,
    };
    let jobs: Vec<Job> = shipped().iter().map(|s| job(s, seeds)).collect();
    let stop = AtomicBool::new(false);
    assert_eq!(
        run(&jobs, &BatchOptions::quiet(1, &stop)).expect("no panic"),
        run(&jobs, &BatchOptions::quiet(3, &stop)).expect("no panic")
    );
}
