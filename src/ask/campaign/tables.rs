//! The tables of a campaign: what is measured of each lock.

use locklab_check::Property;
use locklab_evidence::{DEFAULT_AT_MOST, Finding, Prediction, thousands};
use locklab_results::csv::{self, Csv};
use locklab_results::pace::{GrantRate, PaceCounts};
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_situations::Situation;
use serde::Serialize;

use super::coverage::Coverage;
use crate::campaign::strategy::Strategy;

/// A table of what was measured.
pub(super) struct Part {
    pub(super) stem: &'static str,
    title: &'static str,
    note: &'static str,
    pub(super) measures: &'static [(Measure, &'static str)],
}

/// What is measured.
#[derive(Clone, Copy)]
pub(super) enum Measure {
    /// The share of runs that violate a property.
    Violations(Property),
    /// Grants per second in a part of the runs.
    Grants(&'static str, fn(&PaceCounts) -> GrantRate),
}

pub(super) const SAFETY: Part = Part {
    stem: "safety",
    title: "Safety",
    note: "Where there are replicas or several nodes, nobody can tell whose lock a release deleted.",
    measures: &[
        (
            Measure::Violations(Property::Belief),
            "belief: two clients believe that they hold the lock",
        ),
        (
            Measure::Violations(Property::Lease),
            "lease: the same, each within its lease by its own clock",
        ),
        (
            Measure::Violations(Property::Resource),
            "resource: it accepts what it should not have",
        ),
        (
            Measure::Violations(Property::ForeignRelease),
            "a release deletes another client's lock (one node)",
        ),
    ],
};

pub(super) const LIVENESS: Part = Part {
    stem: "liveness",
    title: "Liveness",
    note: "The time before the first fault includes the start: clients connect, and find the master.",
    measures: &[
        (
            Measure::Violations(Property::Deadlock),
            "a free lock is not taken in time, and no fault excuses it",
        ),
        (
            Measure::Violations(Property::Recovery),
            "the same once all faults are over and the lock has settled",
        ),
        (
            Measure::Grants("grants-before", |pace| pace.before),
            "grants per second before the first fault",
        ),
        (
            Measure::Grants("grants-during", |pace| pace.during),
            "grants per second from there to the end of the last fault",
        ),
        (
            Measure::Grants("grants-after", |pace| pace.after),
            "grants per second afterwards",
        ),
    ],
};

/// One number of the tables. The interval is a 95 % confidence interval.
#[derive(Debug, Serialize)]
pub(super) struct Number {
    lock: &'static str,
    row: String,
    /// A property, of which the share of violating runs is given, or a name of grants per second.
    measure: String,
    runs: u64,
    violated: Option<u64>,
    inconclusive: Option<u64>,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// The situations that the property needs, and that too few runs met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacking: Vec<Situation>,
    /// Why most of the inconclusive runs are so.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Part {
    pub(super) fn numbers(&self, all: &[Coverage]) -> Vec<Number> {
        let of_lock = |it| {
            self.measures
                .iter()
                .map(move |(measure, _)| measure.number(it))
        };
        all.iter().flat_map(of_lock).collect()
    }

    pub(super) fn table(&self, seeds: u64, all: &[Coverage], by: Strategy) -> Table {
        let of_row = |it: &Coverage| TableRow {
            label: it.row.label.clone(),
            fields: self
                .measures
                .iter()
                .map(|(measure, _)| measure.field(it))
                .collect(),
        };
        Table {
            title: title(self.title, seeds, by),
            rows_are: "lock",
            columns: self
                .measures
                .iter()
                .map(|(_, title)| (*title).into())
                .collect(),
            rows: all.iter().map(of_row).collect(),
            legend: vec![
                (Look::Holds, "no violation"),
                (Look::Violated(0.0), "violated: the redder, the more runs"),
                (
                    Look::Inconclusive,
                    "no violation, in too few runs or without what it takes",
                ),
            ],
            notes: vec![
                "A rate is the share of all runs that violate the property; a run that could not \
                 have shown a violation counts as one without."
                    .into(),
                note(by).into(),
                self.note.into(),
            ],
        }
    }
}

impl Measure {
    fn number(self, of: &Coverage) -> Number {
        let cell = &of.searched.cell;
        let number = Number {
            lock: of.row.entry.name,
            row: of.row.label.clone(),
            measure: String::new(),
            runs: 0,
            violated: None,
            inconclusive: None,
            value: None,
            low: None,
            high: None,
            lacking: vec![],
            why: None,
        };
        match self {
            Measure::Violations(property) => {
                let tally = cell.tallies.get(&property).copied().unwrap_or_default();
                let interval = tally.rate().interval();
                Number {
                    measure: property.to_string(),
                    runs: tally.runs(),
                    violated: Some(tally.violated),
                    inconclusive: Some(tally.inconclusive),
                    value: tally.rate().share(),
                    low: Some(interval.low),
                    high: Some(interval.high),
                    lacking: of.lacking(property),
                    why: of.searched.why(property).map(str::to_owned),
                    ..number
                }
            }
            Measure::Grants(name, part) => {
                let rate = cell.pace.as_ref().map(part).unwrap_or_default();
                let interval = rate.interval();
                Number {
                    measure: name.into(),
                    runs: rate.runs,
                    value: rate.mean(),
                    low: interval.map(|interval| interval.low),
                    high: interval.map(|interval| interval.high),
                    ..number
                }
            }
        }
    }

    fn field(self, of: &Coverage) -> Field {
        let cell = &of.searched.cell;
        match self {
            Measure::Violations(property) => {
                let lacking = of.lacking(property);
                let tally = cell.tallies.get(&property).copied().unwrap_or_default();
                let share = tally.rate().share().unwrap_or_default();
                let at_most = DEFAULT_AT_MOST;
                let few = || format!("0 of {}", thousands(tally.runs()));
                let mut detail = tally.describe();
                let (text, look) = match (Prediction::Holds { at_most }).finding(&tally) {
                    Finding::Violated => (format!("{:.1} %", share * 100.0), Look::Violated(share)),
                    Finding::Holds if lacking.is_empty() => ("holds".into(), Look::Holds),
                    Finding::Holds => {
                        detail += &format!("; inconclusive, {}", of.lack(&lacking));
                        (few(), Look::Inconclusive)
                    }
                    Finding::Inconclusive if tally.holds == 0 => {
                        let why = of.searched.why(property);
                        detail += &why.map_or(String::new(), |why| format!(": {why}"));
                        ("–".into(), Look::Silent)
                    }
                    Finding::Inconclusive => (few(), Look::Inconclusive),
                };
                Field { text, detail, look }
            }
            Measure::Grants(_, part) => {
                let rate = cell.pace.as_ref().map(part).unwrap_or_default();
                let text = rate.mean().map_or("–".into(), |mean| format!("{mean:.2}"));
                Field {
                    text,
                    detail: rate.to_string(),
                    look: Look::Silent,
                }
            }
        }
    }
}

/// The title of a table about this.
pub(super) fn title(about: &str, runs: u64, by: Strategy) -> String {
    let runs = thousands(runs);
    match by {
        Strategy::Uniform => format!("{about} under random faults ({runs} runs each)"),
        by => {
            let by = by.name();
            format!("{about} under random faults ({runs} runs each, strategy {by})")
        }
    }
}

/// What the faults of two locks have in common, and what the rates are rates of.
fn note(by: Strategy) -> &'static str {
    match by {
        Strategy::Uniform => {
            "Every lock meets the same faults if it has the same hosts (common random numbers)."
        }
        Strategy::Swarm => {
            "The rates are those of this strategy. Every lock meets the same faults if it has the \
             same hosts (common random numbers)."
        }
        Strategy::Mixed => {
            "The rates are those of this strategy, whose runs are of two workloads. Most faults are placed at the \
             steps of each lock itself, so two locks meet different ones."
        }
        Strategy::Steps => {
            "The rates are those of this strategy. The faults are placed at the steps of each lock \
             itself, so two locks meet different ones."
        }
    }
}

/// One row per number, for programs that read tables.
pub(super) fn as_list(numbers: &[Number]) -> Csv {
    let mut list = Csv::new([
        "lock",
        "row",
        "measure",
        "runs",
        "violated",
        "inconclusive",
        "value",
        "low",
        "high",
        "lacking",
        "why",
    ]);
    let count = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
    for number in numbers {
        let mut row = vec![
            number.lock.to_owned(),
            number.row.clone(),
            number.measure.clone(),
            number.runs.to_string(),
            count(number.violated),
            count(number.inconclusive),
        ];
        row.extend([number.value, number.low, number.high].map(csv::number));
        let lacking: Vec<&str> = number.lacking.iter().map(|it| it.name()).collect();
        row.push(lacking.join(";"));
        row.push(number.why.clone().unwrap_or_default());
        list.push(row);
    }
    list
}
