//! What a person reads about runs, and what a program reads about them.

use std::collections::BTreeMap;

use console::{StyledObject, style};
use serde_json::{Value, json};

use crate::check::{Property, Verdict};
use crate::runner::prediction::{Comparison, Judgement, worst};
use crate::runner::results::{Cell, Finding, Tally};
use crate::scenario::{Expected, Scenario};
use crate::stats;

use super::Exit;

/// The heading of a scenario: its name, title and source.
pub(super) fn heading(scenario: &Scenario) -> String {
    let name = style(&scenario.name).for_stderr().bold();
    match &scenario.claim {
        Some(claim) => format!("{name}  {claim}: {}", scenario.title),
        None => format!("{name}  {}", scenario.title),
    }
}

/// One line for each property that was predicted or violated.
pub(super) fn table(comparisons: &[Comparison]) -> String {
    let mut lines = vec![format!(
        "  {:<18}{:<11}{:<16}{}",
        "property", "predicted", "observed", "violated"
    )];
    let told = |c: &&Comparison| c.predicted.is_some() || c.observed == Finding::Violated;
    for comparison in comparisons.iter().filter(told) {
        let predicted = comparison.predicted.map_or("–", Expected::name);
        lines.push(format!(
            "  {:<18}{:<11}{}  {}",
            comparison.property.name(),
            predicted,
            observed(comparison),
            rate(comparison.tally),
        ));
    }
    lines.join("\n")
}

/// A line on how much was lost, where that is measured.
pub(super) fn loss(cell: &Cell) -> Option<String> {
    let loss = cell.loss.as_ref()?;
    Some(format!("  loss rate {}", loss.describe()))
}

/// How often a property was violated, and what could not be judged.
pub(super) fn rate(tally: Tally) -> String {
    match (tally.judged(), tally.inconclusive) {
        (_, 0) => tally.rate(),
        (0, n) => format!("{} inconclusive", stats::thousands(n)),
        (_, n) => format!("{}; {} inconclusive", tally.rate(), stats::thousands(n)),
    }
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

/// A line for each way in which these properties came out other than well.
pub(super) fn sentences(verdicts: &BTreeMap<Property, Verdict>, properties: &[Property]) -> String {
    // R says again what one of its parts says.
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

/// How a program should end after these comparisons.
pub(super) fn exit(comparisons: &[Comparison]) -> Exit {
    match worst(comparisons) {
        Judgement::AsPredicted | Judgement::Unpredicted => Exit::AsPredicted,
        Judgement::Inconclusive => Exit::Inconclusive,
        Judgement::Differs => Exit::Differs,
    }
}

/// The worse of two endings: a difference outweighs what could not be judged.
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    // Not the greater number: 3 says less than 2.
    match (one, other) {
        (Exit::AsPredicted, other) => other,
        (Exit::Inconclusive, Exit::Differs) => Exit::Differs,
        (one, _) => one,
    }
}

/// A scenario's results for a program.
pub(super) fn json(
    scenario: &Scenario,
    environment: &str,
    runs: u64,
    cell: &Cell,
    comparisons: &[Comparison],
) -> Value {
    let property = |comparison: &Comparison| {
        let interval = stats::wilson(comparison.tally.violated, comparison.tally.judged());
        json!({
            "property": comparison.property,
            "predicted": comparison.predicted,
            "observed": comparison.observed,
            "judgement": comparison.judgement,
            "holds": comparison.tally.holds,
            "violated": comparison.tally.violated,
            "inconclusive": comparison.tally.inconclusive,
            "rate_low": interval.low,
            "rate_high": interval.high,
            "shortest": cell.shortest.get(&comparison.property),
        })
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
    if let Some(loss) = &cell.loss {
        let interval = loss.interval();
        value["loss"] = json!({
            "acknowledged": loss.acknowledged,
            "lost": loss.lost,
            "rate": loss.rate(),
            "rate_low": interval.low,
            "rate_high": interval.high,
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_outweighs_what_could_not_be_judged() {
        use Exit::{AsPredicted, Differs, Inconclusive};
        for (one, other, expected) in [
            (AsPredicted, AsPredicted, AsPredicted),
            (AsPredicted, Inconclusive, Inconclusive),
            (AsPredicted, Differs, Differs),
            (Inconclusive, Differs, Differs),
        ] {
            assert_eq!(worse(one, other), expected);
            assert_eq!(worse(other, one), expected);
        }
    }
}
