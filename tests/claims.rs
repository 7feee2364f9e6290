//! Every shipped scenario gives the predicted result, and gives it twice.
//!
//! With `LOCKLAB_LONG=1` all of them have the runs that `locklab run` gives them.

use std::sync::atomic::AtomicBool;
use std::{env, mem};

use locklab_evidence::Judgement;
use locklab_model::scenario::{SHIPPED, Scenario, load};
use locklab_model::workload::WorkloadKind;
use locklab_results::Cell;
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::prediction::{Comparison, compare, worst};

/// A few runs of thousands of adds each are enough: every one of them shows the result.
const SEEDS_OF_ADDS: u64 = 5;

/// Runs that are cheap enough to begin with, whatever a prediction needs.
const LEAST_SEEDS: u64 = 20;

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

/// The runs that decide all predictions of a scenario if they are right.
fn needed(scenario: &Scenario) -> u64 {
    let predictions = scenario.expect.values();
    let needed = predictions.map(|prediction| prediction.runs_needed());
    needed.max().unwrap_or_default().max(LEAST_SEEDS)
}

/// The comparisons of a scenario that does not come out as predicted.
fn differing(scenario: &Scenario, cell: &Cell) -> Option<Vec<Comparison>> {
    let comparisons = compare(scenario, cell);
    // Some scenarios are for measurements only.
    let expected = match scenario.expect.is_empty() {
        true => Judgement::Unpredicted,
        false => Judgement::AsPredicted,
    };
    (worst(&comparisons) != expected).then_some(comparisons)
}

#[test]
fn every_scenario_comes_out_as_predicted() {
    let mut open = shipped();
    // Where that is undecided, because some runs show nothing, the usual runs decide.
    let mut rounds: Vec<fn(&Scenario) -> u64> = vec![needed, Scenario::usual_seeds];
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
            if let Some(comparisons) = differing(&scenario, &cell) {
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
        None => 4,
    };
    let jobs: Vec<Job> = shipped().iter().map(|s| job(s, seeds)).collect();
    let stop = AtomicBool::new(false);
    assert_eq!(
        run(&jobs, &BatchOptions::quiet(1, &stop)).expect("no panic"),
        run(&jobs, &BatchOptions::quiet(3, &stop)).expect("no panic")
    );
}
