//! The output about runs, for people and for programs.

use console::{StyledObject, style};
use locklab_vecmap::VecMap;
use serde_json::{Value, json};

use locklab_check::{Property, Verdict};
use locklab_evidence::{Finding, Interval, Judgement, Rate, Tally, thousands};
use locklab_model::scenario::Scenario;
use locklab_model::workload::Fencing;
use locklab_results::Cell;
use locklab_results::loss::LossRate;
use locklab_results::pace::{GrantRate, PaceCounts};
use locklab_runner::prediction::{Comparison, worst};

use super::{Exit, layout};

/// The heading of a scenario: its name, title and source.
pub fn heading(scenario: &Scenario) -> String {
    let name = style(&scenario.name).bold();
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
    let mut rows = vec![["property", "predicted", "observed", "violated"].map(String::from)];
    for comparison in told {
        rows.push([
            comparison.property.name().to_owned(),
            predicted(comparison),
            observed(comparison).to_string(),
            in_signs(&comparison.tally.describe()) + &more(comparison),
        ]);
        let struck = comparison.tally.describe_struck();
        let of_struck =
            |rate: String| [String::new(), String::new(), String::new(), in_signs(&rate)];
        rows.extend(struck.map(of_struck));
    }
    layout::rows(&rows)
}

/// A rate with its bound in signs, since a row has little room.
fn in_signs(rate: &str) -> String {
    rate.replace("(at least ", "(≥ ")
        .replace("(at most ", "(≤ ")
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
    let text = |mark| style(format!("{word} {mark}").trim_end().to_owned());
    match comparison.judgement {
        Judgement::AsPredicted => text("✓").green(),
        Judgement::Differs => text("✗").red().bold(),
        Judgement::Inconclusive => text("?").yellow(),
        Judgement::Unpredicted => text(""),
    }
}

/// One paragraph per event that violates some of these properties, and per reason why some are
/// inconclusive.
pub fn sentences(verdicts: &VecMap<Property, Verdict>, properties: &[Property]) -> String {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    for property in properties {
        let (at_ns, sentence) = match verdicts.get(property) {
            Some(Verdict::Violated(violation)) => (Some(violation.at_ns), violation.what.clone()),
            Some(Verdict::Inconclusive { why }) => (None, format!("inconclusive: {why}")),
            Some(Verdict::Holds) | None => continue,
        };
        let same = paragraphs.iter_mut().find(|it| it.is_of(at_ns, &sentence));
        match same {
            Some(paragraph) => paragraph.add(property.name(), &sentence),
            None => paragraphs.push(Paragraph {
                properties: vec![property.name()],
                at_ns,
                first: sentence.clone(),
                text: sentence,
            }),
        }
    }
    let told = |paragraph: &Paragraph| {
        let names = style(paragraph.properties.join(", ")).red();
        layout::fold(&format!("  {names}: {}", paragraph.text))
    };
    paragraphs.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// What is told of one event, or of one reason.
struct Paragraph {
    properties: Vec<&'static str>,
    /// When the event was; `None` for a reason.
    at_ns: Option<u64>,
    /// The sentence on the first of its properties.
    first: String,
    /// The sentences on all of them.
    text: String,
}

/// With fewer words in common, two sentences on one instant are about two events.
const WORDS_IN_COMMON: usize = 4;

impl Paragraph {
    /// Whether a sentence is about the same. That on `resource` repeats the one on a part of it.
    fn is_of(&self, at_ns: Option<u64>, sentence: &str) -> bool {
        let is_event = at_ns.is_some() && self.at_ns == at_ns;
        let common = &sentence[..in_common(&self.first, sentence)];
        let is_alike = common.split_whitespace().count() >= WORDS_IN_COMMON;
        self.first == sentence || (is_event && is_alike)
    }

    /// Adds a property, and what its sentence says beyond the first one.
    fn add(&mut self, property: &'static str, sentence: &str) {
        self.properties.push(property);
        let more = &sentence[in_common(&self.first, sentence)..];
        if !more.is_empty() && !self.text.ends_with(more) {
            self.text += ", and ";
            self.text += more;
        }
    }
}

/// The length of the words with which both sentences begin, and of the spaces after them.
fn in_common(one: &str, other: &str) -> usize {
    let words =
        |text: &'_ str| -> Vec<String> { text.split_inclusive(' ').map(String::from).collect() };
    let pairs = words(one).into_iter().zip(words(other));
    let common = pairs.take_while(|(one, other)| one == other);
    common.map(|(word, _)| word.len()).sum()
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
        value["loss"] = self::loss(loss);
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

/// How much was lost, for programs.
pub fn loss(loss: &LossRate) -> Value {
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
