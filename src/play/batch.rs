//! Many runs: how often each property was violated so far, beside what the scenario predicts.

use locklab_check::Property;
use locklab_evidence::{Interval, Judgement, Prediction};
use locklab_model::scenario::Scenario;
use locklab_results::{Cell, Detail};
use locklab_runner::batch::Job;
use locklab_runner::prediction::{Comparison, compare};
use serde_json::{Value, json};

use super::subject::Subject;

/// Runs the scenario with the seeds from 0 to `seeds`, and says what the runs come to after each `every` of them.
pub fn many(
    subject: &Subject,
    seeds: u64,
    every: u64,
    say: &mut dyn FnMut(Value),
) -> Result<(), Value> {
    let scenario = subject.scenario()?;
    let headline = scenario.headline();
    let job = Job::of(&scenario, 0..seeds);
    let mut cell = Cell::default();
    let mut violating: Vec<u64> = Vec::new();
    for seed in job.seeds.clone() {
        let violated = |cell: &Cell| cell.tallies.get(&headline).map_or(0, |it| it.violated);
        let before = violated(&cell);
        let added = job.add(seed, Detail::Counts, &mut cell);
        added.map_err(|error| json!({ "error": format!("seed {seed}: {error}") }))?;
        if violated(&cell) > before {
            violating.push(seed);
        }
        let runs = seed + 1;
        if runs % every.max(1) == 0 || runs == seeds {
            say(json!({
                "runs": runs,
                "of": seeds,
                "headline": headline.name(),
                "properties": properties(&scenario, &cell, subject.is_changed()),
                "violating": std::mem::take(&mut violating),
                "fingerprint": format!("{:016x}", cell.fingerprint),
            }));
        }
    }
    Ok(())
}

/// The properties that are predicted or violated.
fn properties(scenario: &Scenario, cell: &Cell, is_changed: bool) -> Vec<Value> {
    let all = compare(scenario, cell).into_iter();
    let shown = all.filter(|it| {
        it.predicted.is_some() || it.tally.violated > 0 || it.property == Property::Lease
    });
    shown.map(|it| row(&it, is_changed)).collect()
}

fn row(it: &Comparison, is_changed: bool) -> Value {
    let Interval { low, high } = it.tally.rate().interval();
    let judgement = match it.judgement {
        // The predictions are for the values that the scenario has.
        _ if is_changed => Judgement::Unpredicted,
        judgement => judgement,
    };
    json!({
        "property": it.property.name(),
        "promises": it.property.describes(),
        "violated": it.tally.violated,
        "low": low,
        "high": high,
        "words": it.tally.describe(),
        "observed": it.observed.name(),
        "predicted": it.predicted.map(|predicted| predicted.to_string()),
        "range": it.predicted.map(range),
        "judgement": judgement.name(),
    })
}

/// The rates that fit a prediction, from the lowest to the highest.
fn range(predicted: Prediction) -> [f64; 2] {
    match predicted {
        Prediction::Holds { at_most } => [0.0, at_most],
        Prediction::Violated { rate, .. } => rate.unwrap_or([0.0, 1.0]),
    }
}
