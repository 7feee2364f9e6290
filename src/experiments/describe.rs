//! The output about runs, for people and for programs.

use std::collections::BTreeMap;

use console::{StyledObject, style};
use serde_json::{Value, json};

use locklab_check::{Property, Verdict};
use locklab_evidence::{Finding, Interval, Judgement, Rate, Tally, thousands};
use locklab_model::scenario::Scenario;
use locklab_model::workload::Fencing;
use locklab_results::loss::LossRate;
use locklab_results::pace::{GrantRate, PaceCounts};
use locklab_results::{Cell, Seeding, Sweep};
use locklab_runner::prediction::{Comparison, worst};

use super::Exit;

/// The heading of a scenario: its name, title and source.
pub fn heading(scenario: &Scenario) -> String {
    let name = style(&scenario.name).for_stderr().bold();
    match &scenario.claim {
        Some(claim) => format!("{name}  {claim}: {}", scenario.title),
        None => format!("{name}  {}", scenario.title),
    }
}

/// One line per property that was predicted or violated, and one for its rate among the runs in
/// which every fault began, if those are not all runs.
pub fn table(comparisons: &[Comparison]) -> String {
    let told = |c: &&Comparison| c.predicted.is_some() || c.observed == Finding::Violated;
    let told: Vec<&Comparison> = comparisons.iter().filter(told).collect();
    if told.is_empty() {
        return "  nothing is predicted, in a table [expect], and no property was violated".into();
    }
    let predicted = |c: &Comparison| c.predicted.map_or("–".to_owned(), |p| p.to_string());
    let width = told.iter().map(|c| predicted(c).chars().count()).max();
    let width = width.unwrap_or_default().max("predicted".len()) + 2;
    let mut lines = vec![format!(
        "  {:<18}{:<width$}{:<16}{}",
        "property", "predicted", "observed", "violated"
    )];
    for comparison in told {
        lines.push(format!(
            "  {:<18}{:<width$}{}  {}{}",
            comparison.property.name(),
            predicted(comparison),
            observed(comparison),
            comparison.tally.describe(),
            more(comparison),
        ));
        let indent = 2 + 18 + width + 16;
        let struck = comparison.tally.describe_struck();
        lines.extend(struck.map(|rate| format!("{:indent$}{rate}", "")));
    }
    lines.join("\n")
}

/// What is needed to decide an inconclusive comparison.
fn more(comparison: &Comparison) -> String {
    match (comparison.judgement, comparison.more_runs) {
        (Judgement::Inconclusive, Some(runs)) => {
            format!("; {} more runs would decide", thousands(runs))
        }
        _ => String::new(),
    }
}

/// What was measured beside the properties, a line each.
pub fn measured(scenario: &Scenario, cell: &Cell) -> Vec<String> {
    let loss = cell.loss.as_ref();
    let loss = loss.map(|loss| format!("loss rate {}", loss.describe()));
    let pace = cell.pace.as_ref().map(PaceCounts::describe);
    [promised(scenario, cell), loss, writes(scenario, cell), pace]
        .into_iter()
        .flatten()
        .collect()
}

/// A line about what grants promised, where it is judged whether they kept it.
fn promised(scenario: &Scenario, cell: &Cell) -> Option<String> {
    let lease = scenario.expect.contains_key(&Property::Lease);
    cell.promised.describe().filter(|_| lease)
}

/// A line about the writes, where one number of a run says little: where clients take the lock
/// several times, or a fenced resource may refuse them.
fn writes(scenario: &Scenario, cell: &Cell) -> Option<String> {
    let is_fenced = scenario.resource.fencing != Fencing::None;
    let lost_update = scenario.expect.contains_key(&Property::LostUpdate);
    (lost_update && (is_fenced || scenario.workload.rounds > 1)).then(|| cell.writes.describe())
}

/// The observation, coloured by its judgement: `holds ✓`, `violated ✗`.
fn observed(comparison: &Comparison) -> StyledObject<String> {
    let word = comparison.observed.name();
    let text = |mark| style(format!("{:<14}", format!("{word} {mark}"))).for_stderr();
    match comparison.judgement {
        Judgement::AsPredicted => text("✓").green(),
        Judgement::Differs => text("✗").red().bold(),
        Judgement::Inconclusive => text("?").yellow(),
        Judgement::Unpredicted => text(""),
    }
}

/// One line per violation or inconclusive verdict of these properties.
pub fn sentences(verdicts: &BTreeMap<Property, Verdict>, properties: &[Property]) -> String {
    // R repeats the violation of one of its parts.
    let mut sentences: Vec<(String, Vec<&str>)> = Vec::new();
    for property in properties {
        let sentence = match verdicts.get(property) {
            Some(Verdict::Violated(violation)) => violation.what.clone(),
            Some(Verdict::Inconclusive { why }) => format!("inconclusive: {why}"),
            Some(Verdict::Holds) | None => continue,
        };
        match sentences.iter_mut().find(|(same, _)| *same == sentence) {
            Some((_, names)) => names.push(property.name()),
            None => sentences.push((sentence, vec![property.name()])),
        }
    }
    let line = |(sentence, names): &(String, Vec<&str>)| {
        let names = style(names.join(", ")).for_stderr().red();
        format!("  {names}: {sentence}")
    };
    sentences.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The exit code after these comparisons.
pub fn exit(comparisons: &[Comparison]) -> Exit {
    Exit::of(worst(comparisons))
}

/// The counts and rates of a tally, for programs. A rate names the runs of which it is a share.
pub fn rates(tally: &Tally) -> Value {
    let rate = |rate: Rate, of: &str| {
        let Interval { low, high } = rate.interval();
        json!({
            "of": of,
            "runs": rate.runs,
            "violated": rate.violated,
            "rate": rate.share(),
            "rate_low": low,
            "rate_high": high,
        })
    };
    json!({
        "holds": tally.holds,
        "violated": tally.violated,
        "inconclusive": tally.inconclusive,
        "inconclusive_share": tally.inconclusive_share(),
        "rates": [
            rate(tally.rate(), "all runs"),
            rate(tally.rate_struck(), "runs in which every fault began"),
        ],
    })
}

/// A scenario's results, for programs.
pub fn json(
    scenario: &Scenario,
    environment: &str,
    runs: u64,
    cell: &Cell,
    comparisons: &[Comparison],
) -> Value {
    let property = |comparison: &Comparison| {
        let mut value = json!({
            "property": comparison.property,
            "predicted": comparison.predicted,
            "observed": comparison.observed,
            "judgement": comparison.judgement,
            "more_runs": comparison.more_runs,
            "shortest": cell.shortest.get(&comparison.property),
        });
        merge(&mut value, rates(&comparison.tally));
        value
    };
    let mut value = json!({
        "scenario": scenario.name,
        "claim": scenario.claim,
        "title": scenario.title,
        "environment": environment,
        "runs": runs,
        "fingerprint": format!("{:016x}", cell.fingerprint),
        "judgement": worst(comparisons),
        "properties": comparisons.iter().map(property).collect::<Vec<_>>(),
    });
    if cell.promised.grants > 0 {
        value["promised"] = json!(cell.promised);
    }
    if let Some(loss) = &cell.loss {
        value["loss"] = loss_json(loss);
    }
    if let Some(pace) = &cell.pace {
        value["grants_per_second"] = json!({
            "before": grants_json(&pace.before),
            "during": grants_json(&pace.during),
            "after": grants_json(&pace.after),
        });
    }
    value
}

/// Grants per second before, during or after the faults.
fn grants_json(rate: &GrantRate) -> Value {
    let interval = rate.interval();
    json!({
        "runs": rate.runs,
        "value": rate.mean(),
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
    })
}

/// A sweep's results, for programs.
pub fn sweep_json(sweep: &Sweep) -> Value {
    let tally = |(property, tally): (&Property, &Tally)| (property.name().into(), rates(tally));
    let cell = |cell: &Cell| {
        let parameters = cell.parameters.iter().cloned();
        let parameters = parameters.map(|(path, value)| (path, Value::from(value)));
        let mut value = json!({
            "parameters": parameters.collect::<serde_json::Map<_, _>>(),
            "properties": cell.tallies.iter().map(tally).collect::<serde_json::Map<_, _>>(),
            "shortest": cell.shortest,
            "fingerprint": format!("{:016x}", cell.fingerprint),
        });
        if let Some(loss) = &cell.loss {
            value["loss"] = loss_json(loss);
        }
        value
    };
    let mut value = json!({
        "scenario": sweep.scenario,
        "title": sweep.title,
        "axes": sweep.axes,
        "runs_in_each_cell": sweep.seeds,
        "common_random_numbers": sweep.seeding == Seeding::Common,
        "cells": sweep.cells.iter().map(cell).collect::<Vec<_>>(),
    });
    if sweep.first_seed > 0 {
        value["first_seed"] = sweep.first_seed.into();
    }
    value
}

fn loss_json(loss: &LossRate) -> Value {
    let interval = loss.interval();
    json!({
        "of": "acknowledged adds of all runs",
        "runs": loss.runs,
        "acknowledged": loss.acknowledged,
        "lost": loss.lost,
        "rate": loss.rate(),
        "rate_low": interval.low,
        "rate_high": interval.high,
    })
}

/// Adds the entries of one object to another.
pub fn merge(value: &mut Value, more: Value) {
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
}
