//! The tables of a campaign: what is measured of each lock.

use locklab_check::Property;
use locklab_evidence::{DEFAULT_AT_MOST, Finding, Prediction, thousands};
use locklab_matrix::Row;
use locklab_results::Cell;
use locklab_results::csv::{self, Csv};
use locklab_results::pace::{GrantRate, PaceCounts};
use locklab_results::table::{Field, Look, Table, TableRow};
use serde::Serialize;

use super::searched::Searched;
use crate::strategy::Strategy;

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
    title: "Safety under random faults",
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
    title: "Liveness under random faults",
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
}

impl Part {
    pub(super) fn numbers(&self, rows: &[Row], all: &[Searched]) -> Vec<Number> {
        let mut numbers = Vec::new();
        for (row, searched) in rows.iter().zip(all) {
            let measures = self.measures.iter();
            numbers.extend(measures.map(|(measure, _)| measure.number(row, &searched.cell)));
        }
        numbers
    }

    pub(super) fn table(&self, seeds: u64, rows: &[Row], all: &[Searched], by: Strategy) -> Table {
        let of_row = |(row, searched): (&Row, &Searched)| TableRow {
            label: row.label.clone(),
            fields: self
                .measures
                .iter()
                .map(|(measure, _)| measure.field(&searched.cell))
                .collect(),
        };
        Table {
            title: match by {
                Strategy::Uniform => format!("{} ({} runs each)", self.title, thousands(seeds)),
                by => {
                    let (runs, by) = (thousands(seeds), by.name());
                    format!("{} ({runs} runs each, strategy {by})", self.title)
                }
            },
            rows_are: "lock",
            columns: self
                .measures
                .iter()
                .map(|(_, title)| (*title).into())
                .collect(),
            rows: rows.iter().zip(all).map(of_row).collect(),
            legend: vec![
                (Look::Holds, "no violation"),
                (Look::Violated(0.0), "violated: the redder, the more runs"),
                (Look::Inconclusive, "no violation, in too few runs"),
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
    fn number(self, row: &Row, cell: &Cell) -> Number {
        let number = Number {
            lock: row.entry.name,
            row: row.label.clone(),
            measure: String::new(),
            runs: 0,
            violated: None,
            inconclusive: None,
            value: None,
            low: None,
            high: None,
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

    fn field(self, cell: &Cell) -> Field {
        match self {
            Measure::Violations(property) => {
                let tally = cell.tallies.get(&property).copied().unwrap_or_default();
                let share = tally.rate().share().unwrap_or_default();
                let at_most = DEFAULT_AT_MOST;
                let (text, look) = match (Prediction::Holds { at_most }).finding(&tally) {
                    Finding::Violated => (format!("{:.1} %", share * 100.0), Look::Violated(share)),
                    Finding::Holds => ("holds".into(), Look::Holds),
                    Finding::Inconclusive if tally.holds == 0 => ("–".into(), Look::Silent),
                    Finding::Inconclusive => (
                        format!("0 of {}", thousands(tally.runs())),
                        Look::Inconclusive,
                    ),
                };
                Field {
                    text,
                    detail: tally.describe(),
                    look,
                }
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
        list.push(row);
    }
    list
}
