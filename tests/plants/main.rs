//! The scenarios that must catch planted mistakes; `cargo xtask plants` runs this, built with the
//! mistakes of the `*.toml` beside it. See docs/adding-a-lock.md.

use std::env;
use std::sync::atomic::AtomicBool;

use locklab_evidence::Judgement;
use locklab_model::scenario::load;
use locklab_runner::batch::{self, BatchOptions, Job};
use locklab_runner::prediction::{compare, worst};

/// The environment variable with the scenarios, separated by spaces.
const SCENARIO: &str = "LOCKLAB_PLANT_SCENARIO";

/// The scenario of `cargo test`, which runs them all elsewhere.
const EXAMPLE: &str = "kleppmann/k1";

/// A mistake must show within this many runs: more would only reveal small differences of
/// rates.
const MAX_SEEDS: u64 = 120;

/// Fewer runs, which are made first.
const FEW: [u64; 2] = [6, 20];

/// The environment variable with another number of runs.
const SEEDS: &str = "LOCKLAB_PLANT_SEEDS";

#[test]
fn a_scenario_is_as_predicted() {
    let names = env::var(SCENARIO).unwrap_or_else(|_| EXAMPLE.to_owned());
    let seeds = env::var(SEEDS).ok().and_then(|seeds| seeds.parse().ok());
    for name in names.split(' ') {
        check(name, seeds.unwrap_or(MAX_SEEDS));
    }
}

/// First with few runs, since most mistakes show in them.
fn check(name: &str, max_seeds: u64) {
    let scenario = load(name, &[]).expect("it ships");
    let usual = scenario.usual_seeds().min(max_seeds);
    for seeds in FEW.into_iter().filter(|few| *few < usual).chain([usual]) {
        let job = Job {
            scenario: scenario.clone(),
            parameters: Vec::new(),
            seeds: 0..seeds,
        };
        let stop = AtomicBool::new(false);
        let cells = batch::run(&[job], &BatchOptions::quiet(1, &stop)).expect("no run panics");
        let cell = cells[0].as_ref().expect("it was finished");
        let judgement = worst(&compare(&scenario, cell));
        assert_ne!(judgement, Judgement::Differs, "{name}");
    }
}
