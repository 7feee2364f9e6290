//! The predictions of a minimum: what it violates in many runs.

use std::sync::atomic::AtomicBool;

use locklab_check::Property;
use locklab_evidence::{Basis, Prediction, Tally};
use locklab_model::scenario::Scenario;
use locklab_runner::batch::{self, BatchOptions, Job};
use locklab_runner::pool::Broken;
use locklab_vecmap::VecMap;

/// Runs a scenario with as many seeds as `locklab run` does, and writes into it what they violate: at
/// a rate from 95 to 100 % where every run violates it, and otherwise *violated*, which one run
/// shows. Returns how often each property was violated; `None` if `stop` was set before all runs were
/// made, and then predicts that the seed at hand violates `property`.
///
/// # Errors
///
/// If a run fails or panics.
pub fn expect(
    scenario: &mut Scenario,
    property: Property,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Option<VecMap<Property, Tally>>, Broken> {
    let tallies = tallies(scenario, property, threads, stop)?;
    scenario.expect = [(property, Prediction::VIOLATED)].into();
    let Some(tallies) = tallies else {
        return Ok(None);
    };
    let violated = tallies.iter().filter(|(_, tally)| tally.violated > 0);
    scenario.expect.extend(violated.map(|(property, tally)| {
        let prediction = match tally.violated == tally.runs() {
            true => ALWAYS,
            false => Prediction::VIOLATED,
        };
        (*property, prediction)
    }));
    Ok(Some(tallies))
}

/// How often a scenario violates each property, with as many seeds as show that it always violates this
/// one; `None` if `stop` was set before all runs were made.
///
/// # Errors
///
/// If a run fails or panics.
pub fn tallies(
    scenario: &Scenario,
    property: Property,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Option<VecMap<Property, Tally>>, Broken> {
    let scenario = Scenario {
        expect: [(property, ALWAYS)].into(),
        ..scenario.clone()
    };
    let jobs = [Job::of(&scenario, 0..scenario.usual_seeds())];
    let cells = batch::run(&jobs, &BatchOptions::quiet(threads, stop))?;
    Ok(cells.into_iter().flatten().next().map(|cell| cell.tallies))
}

/// What every run violates.
const ALWAYS: Prediction = Prediction::Violated {
    rate: Some([0.95, 1.0]),
    basis: Basis::Mechanism,
};
