//! Every lock under random faults.

use std::ops::Range;

use anyhow::anyhow;
use serde::Serialize;
use serde_json::json;

use super::bug::Bug;
use super::matrix::chosen_rows;
use super::parts::Stage;
use super::report::Report;
use super::section::Section;
use super::work::{Made, Work};
use super::{Exit, Experiment, Program, Reports, Session, Store, data, pictures};
use locklab_check::Property;
use locklab_evidence::{DEFAULT_AT_MOST, Finding, Prediction, thousands};
use locklab_matrix::{Row, Setting, put_in};
use locklab_model::scenario::Scenario;
use locklab_report::Provenance;
use locklab_results::csv::{self, Csv};
use locklab_results::pace::{GrantRate, PaceCounts};
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_results::{Cell, Detail};
use locklab_runner::batch::Job;
use locklab_runner::judged;
use locklab_runner::pool::Broken;

/// The scenario of which every seed draws another.
const SCENARIO: &str = "problems/campaign";

/// Locks under random faults.
pub struct Campaign {
    rows: Vec<Row>,
    /// Whether the user chose locks, so that their first violations are shown.
    is_chosen: bool,
    overrides: Vec<String>,
    scenarios: Vec<Scenario>,
    seeds: Range<u64>,
}

impl Campaign {
    /// Plans a campaign of these locks, or single forms of one; without any, of all. `overrides`
    /// are those of the scenario.
    ///
    /// # Errors
    ///
    /// If an override does not fit.
    pub fn plan(
        locks: &[String],
        overrides: Vec<String>,
        seeds: Range<u64>,
    ) -> anyhow::Result<Self> {
        let (rows, scenarios) = put_in_campaign(locks, &overrides)?;
        let is_chosen = !locks.is_empty();
        Ok(Self {
            rows,
            is_chosen,
            overrides,
            scenarios,
            seeds,
        })
    }
}

/// Locks, or single forms of one, under random faults.
///
/// # Errors
///
/// If a lock does not fit.
pub(crate) fn scenarios(locks: &[String]) -> anyhow::Result<Vec<(Row, Scenario)>> {
    let (rows, scenarios) = put_in_campaign(locks, &[])?;
    Ok(rows.into_iter().zip(scenarios).collect())
}

fn put_in_campaign(
    locks: &[String],
    overrides: &[String],
) -> anyhow::Result<(Vec<Row>, Vec<Scenario>)> {
    let rows = chosen_rows(locks);
    let setting = Setting {
        lease_ms: 1000,
        parameters: toml::Table::new(),
    };
    let scenarios = rows
        .iter()
        .map(|row| put_in(row, SCENARIO, overrides, &setting));
    let scenarios: Result<Vec<Scenario>, String> = scenarios.collect();
    Ok((rows, scenarios.map_err(|error| anyhow!(error))?))
}

impl Experiment for Campaign {
    const NAME: &'static str = "campaign";
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Cell>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("campaign")
    }

    fn identity(&self) -> impl Serialize {
        (&self.scenarios, self.seeds.clone())
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let jobs = self.scenarios.iter();
        let jobs: Vec<Job> = jobs.map(|s| Job::of(s, self.seeds.clone())).collect();
        let program = &work.session().program;
        work.cells(&Stage::SIMULATED, &jobs, Detail::Counts, &|broken| {
            bug(broken, &self.rows, program)
        })
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let runs = made.iter().map(|made| made.runs).max().unwrap_or_default();
        let cells: Vec<Cell> = made.into_iter().map(|made| made.result).collect();
        let mut all = Vec::new();
        let mut sections = Vec::new();
        for part in [&SAFETY, &LIVENESS] {
            let numbers = part.numbers(&self.rows, &cells);
            let table = part.table(runs, &self.rows, &cells);
            let data = data::document(Self::NAME, json!({ "results": numbers }));
            let end = self.seeds.start + runs;
            let provenance = Provenance {
                subject: format!("{} of locks in {SCENARIO}", part.stem),
                overrides: self.overrides.clone(),
                seeds: format!("seeds {}..{end} of each lock", self.seeds.start),
                environment: "simulated world".into(),
            };
            let list = as_list(&numbers);
            let section = Section::of_table(table, list, data, provenance, folder, part.stem);
            sections.push(section);
            all.extend(numbers);
        }
        let mut closing = String::new();
        if self.is_chosen {
            for ((row, scenario), cell) in self.rows.iter().zip(&self.scenarios).zip(&cells) {
                closing += &show(row, scenario, cell, folder, &session.program)?;
            }
        }
        Ok(Report {
            sections,
            closing,
            document: data::document(Self::NAME, json!({ "results": all })),
            exit: Exit::AsPredicted,
        })
    }
}

/// A table of what was measured.
struct Part {
    stem: &'static str,
    title: &'static str,
    note: &'static str,
    measures: &'static [(Measure, &'static str)],
}

/// What is measured.
#[derive(Clone, Copy)]
enum Measure {
    /// The share of runs that violate a property.
    Violations(Property),
    /// Grants per second in a part of the runs.
    Grants(&'static str, fn(&PaceCounts) -> GrantRate),
}

const SAFETY: Part = Part {
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

const LIVENESS: Part = Part {
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
struct Number {
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
    fn numbers(&self, rows: &[Row], cells: &[Cell]) -> Vec<Number> {
        let of_row = |(row, cell)| {
            let number = move |(measure, _): &(Measure, _)| measure.number(row, cell);
            self.measures.iter().map(number)
        };
        rows.iter().zip(cells).flat_map(of_row).collect()
    }

    fn table(&self, seeds: u64, rows: &[Row], cells: &[Cell]) -> Table {
        let of_row = |(row, cell): (&Row, &Cell)| TableRow {
            label: row.label.clone(),
            fields: self
                .measures
                .iter()
                .map(|(measure, _)| measure.field(cell))
                .collect(),
        };
        Table {
            title: format!("{} ({} runs each)", self.title, thousands(seeds)),
            rows_are: "lock",
            columns: self
                .measures
                .iter()
                .map(|(_, title)| (*title).into())
                .collect(),
            rows: rows.iter().zip(cells).map(of_row).collect(),
            legend: vec![
                (Look::Holds, "no violation"),
                (Look::Violated(0.0), "violated: the redder, the more runs"),
                (Look::Inconclusive, "no violation, in too few runs"),
            ],
            notes: vec![
                "A rate is the share of all runs that violate the property; a run that could not \
                 have shown a violation counts as one without."
                    .into(),
                "Every lock meets the same faults if it has the same hosts (common random \
                 numbers)."
                    .into(),
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

/// One row per number, for programs that read tables.
fn as_list(numbers: &[Number]) -> Csv {
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

/// Records the first run that violates each property.
fn show(
    row: &Row,
    scenario: &Scenario,
    cell: &Cell,
    folder: &Store,
    program: &Program,
) -> anyhow::Result<String> {
    let mut text = String::new();
    let measures = SAFETY.measures.iter().chain(LIVENESS.measures);
    for (measure, _) in measures {
        let Measure::Violations(property) = *measure else {
            continue;
        };
        let Some(shortest) = cell.shortest.get(&property) else {
            continue;
        };
        let recording = judged::record(scenario, shortest.seed)?;
        let folder = folder.of_scenario(&row.label, &scenario.overrides)?;
        let stem = format!("{property}-seed-{}", shortest.seed);
        let kept = pictures::keep(&folder, &stem, scenario, &recording, property)?;
        text += &format!(
            "  {} violates {property} with seed {}\n{}\n",
            row.label,
            shortest.seed,
            kept.describe(program)
        );
    }
    Ok(text)
}

/// The error for a run without a result.
fn bug(broken: Broken, rows: &[Row], program: &Program) -> anyhow::Error {
    let row = &rows[broken.job].label;
    let seeds = format!("{}..{}", broken.seed, broken.seed + 1);
    let reproduce = program.line(&["campaign", "--lock", row, "--seeds", &seeds]);
    Bug::or_usage(broken, &format!("{row} in a campaign"), reproduce)
}
