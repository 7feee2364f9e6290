//! The cost of every lock, and the waiting times of its clients.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::problems::metrics::{Measure, Sample};
use crate::problems::plan::About;
use crate::problems::{Metric, Plan, Row, chosen_rows, put_in};
use locklab_evidence::{Interval, bootstrap, thousands};
use locklab_lab::bug::Bug;
use locklab_lab::parts::Stage;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Program, Session, Store, data};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_report::Provenance;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::pool::Broken;
use locklab_runner::simulate::{Keep, simulate};
use locklab_values::random::Stream;

pub(crate) mod options;

/// More samples would exhaust the memory.
const MOST_SEEDS: u64 = 1_000_000;

/// What locks cost.
pub struct Cost {
    rows: Vec<Row>,
    metrics: Vec<Metric>,
    /// Every row in every setting; metrics of the same setting share its runs.
    places: Vec<(Place, Scenario)>,
    seeds: Range<u64>,
}

/// A row with a setting: label, scenario, overrides, lease.
type Place = (String, String, Vec<String>, u64);

fn place(row: &Row, metric: &Metric) -> Place {
    let label = row.label.clone();
    (
        label,
        metric.scenario.clone(),
        metric.set.clone(),
        metric.lease_ms,
    )
}

/// What runs cost, by their seeds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Samples(BTreeMap<u64, Sample>);

impl Part for Samples {
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let kept = self.0.len() as u64;
        (kept != runs).then(|| format!("it keeps samples of {kept} runs of {runs}"))
    }
}

impl Cost {
    /// Plans to measure these locks, or single forms of one; without any, all.
    ///
    /// # Errors
    ///
    /// If there are too many seeds.
    pub fn plan(locks: &[String], seeds: Range<u64>) -> anyhow::Result<Self> {
        ensure!(
            seeds.end - seeds.start <= MOST_SEEDS,
            "cost keeps a sample of every run in memory: at most {} seeds",
            thousands(MOST_SEEDS)
        );
        let rows = chosen_rows(locks);
        let metrics = Plan::shipped().metrics;
        let mut places: BTreeMap<Place, Scenario> = BTreeMap::new();
        for row in &rows {
            for metric in &metrics {
                let scenario = put_in(row, &metric.scenario, &metric.set, &metric.setting());
                places.insert(
                    place(row, metric),
                    scenario.map_err(|error| anyhow!(error))?,
                );
            }
        }
        let places = places.into_iter().collect();
        Ok(Self {
            rows,
            metrics,
            places,
            seeds,
        })
    }
}

impl Experiment for Cost {
    const NAME: &'static str = "cost";
    type Results = Vec<Made<Samples>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        store.below("cost")
    }

    fn identity(&self) -> impl Serialize {
        (&self.places, self.seeds.clone())
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let seeds = vec![self.seeds.clone(); self.places.len()];
        let run = |place: usize, seed, samples: &mut Samples| {
            let Drawn { scenario, schedule } = self.places[place].1.drawn(seed);
            let run = simulate(&scenario, seed, &schedule, Keep::MESSAGES)?;
            samples.0.insert(seed, Sample::of(&run.history));
            Ok::<(), RunError>(())
        };
        let stage = Stage {
            doing: "measuring",
            ..Stage::SIMULATED
        };
        let session = work.session();
        work.runs(&stage, &seeds, session.threads, run, &|broken| {
            bug(broken, &self.places, &session.program)
        })
    }

    fn report(&self, made: Self::Results, _: &Session, folder: &Store) -> anyhow::Result<Report> {
        let is_whole = made.iter().all(Made::is_whole);
        let runs = made.iter().map(|made| made.runs).max().unwrap_or_default();
        let samples = made
            .into_iter()
            .map(|made| made.result.0.into_values().collect());
        let places = self.places.iter().map(|(place, _)| place.clone());
        let samples: BTreeMap<Place, Vec<Sample>> = places.zip(samples).collect();
        let mut all = Vec::new();
        let mut sections = Vec::new();
        for (about, stem, title) in [
            (About::Cost, "cost", "What a lock costs"),
            (About::Liveness, "liveness", "Waiting for a lock"),
        ] {
            let metrics: Vec<&Metric> = self.metrics.iter().filter(|g| g.about == about).collect();
            let values = values(&self.rows, &metrics, &samples);
            let title = match is_whole {
                true => format!("{title} ({} runs each)", thousands(runs)),
                false => format!(
                    "{title} (at most {} runs each; interrupted)",
                    thousands(runs)
                ),
            };
            let table = as_table(title, &self.rows, &metrics, &values);
            let part = numbers(runs, &self.rows, &metrics, &values);
            let data = data::document(Self::NAME, json!({ "results": part }));
            let end = self.seeds.start + runs;
            let provenance = Provenance {
                subject: format!("{stem} of locks"),
                overrides: vec![],
                seeds: format!("seeds {}..{end} in each cell", self.seeds.start),
                environment: "simulated world".into(),
            };
            let section = Section::of_table(table, as_list(&part), data, provenance, folder, stem);
            sections.push(section);
            all.extend(part);
        }
        Ok(Report {
            sections,
            closing: String::new(),
            document: data::document(Self::NAME, json!({ "results": all })),
            exit: Exit::AsPredicted,
        })
    }
}

/// The error for a run of these places without a result.
fn bug(broken: Broken, places: &[(Place, Scenario)], program: &Program) -> anyhow::Error {
    let ((row, scenario, ..), _) = &places[broken.job];
    let seeds = format!("{}..{}", broken.seed, broken.seed + 1);
    let reproduce = program.line(&["study", "cost", "--lock", row, "--seeds", &seeds]);
    Bug::or_usage(broken, &format!("{row} in {scenario}"), reproduce)
}

/// A measured number with its confidence interval.
struct Value {
    value: f64,
    interval: Option<Interval>,
}

impl Value {
    /// The value over these runs; `None` if there is nothing to measure it from.
    fn of(runs: &[Sample], measure: Measure) -> Option<Value> {
        let together = |places: &mut dyn Iterator<Item = usize>| {
            let mut all = Sample::default();
            places.for_each(|place| all.merge(runs[place].clone()));
            all.measure(measure)
        };
        let value = together(&mut (0..runs.len()))?;
        let mut random = Stream::new(0, "bootstrap");
        let interval = match measure.is_a_maximum() {
            true => None,
            false => bootstrap(
                runs.len(),
                |n| random.below(n),
                |drawn| together(&mut drawn.iter().copied()),
            ),
        };
        Some(Value { value, interval })
    }

    /// `12.3 (11.9–12.8)`; a number that never varies has no interval.
    fn describe(&self) -> String {
        let number = |value: f64| match value {
            0.0..100.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        };
        match self.interval {
            Some(Interval { low, high }) if low < high => {
                format!("{} ({}–{})", number(self.value), number(low), number(high))
            }
            _ => number(self.value),
        }
    }
}

/// The numbers, row by row.
fn values(
    rows: &[Row],
    metrics: &[&Metric],
    samples: &BTreeMap<Place, Vec<Sample>>,
) -> Vec<Vec<Option<Value>>> {
    let value =
        |row: &Row, metric: &Metric| Value::of(samples.get(&place(row, metric))?, metric.measure);
    rows.iter()
        .map(|row| metrics.iter().map(|metric| value(row, metric)).collect())
        .collect()
}

fn as_table(
    title: String,
    rows: &[Row],
    metrics: &[&Metric],
    values: &[Vec<Option<Value>>],
) -> Table {
    let largest: Vec<f64> = (0..metrics.len())
        .map(|column| {
            let values = values.iter().filter_map(|row| row[column].as_ref());
            values.map(|value| value.value).fold(0.0, f64::max)
        })
        .collect();
    let field = |value: &Option<Value>, largest: f64| match value {
        None => Field::plain("–", Look::Silent),
        Some(value) => {
            let share = if largest > 0.0 {
                value.value / largest
            } else {
                0.0
            };
            Field::plain(value.describe(), Look::Bar(share))
        }
    };
    let row = |(row, values): (&Row, &Vec<Option<Value>>)| TableRow {
        label: row.label.clone(),
        fields: values
            .iter()
            .zip(&largest)
            .map(|(value, largest)| field(value, *largest))
            .collect(),
    };
    Table {
        title,
        rows_are: "lock",
        columns: metrics.iter().map(|metric| metric.title.clone()).collect(),
        rows: rows.iter().zip(values).map(row).collect(),
        legend: vec![
            (Look::Bar(0.0), "as a share of the largest of the column"),
            (Look::Silent, "nothing to measure"),
        ],
        notes: vec![
            "In brackets the 95 % interval, from the bootstrap over runs; the longest wait has none. \
             Every row uses the same seeds (common random numbers)."
                .into(),
        ],
    }
}

/// One number, for programs.
#[derive(Serialize)]
struct Number {
    lock: &'static str,
    row: String,
    metric: String,
    title: String,
    /// The number of runs over which it was measured.
    runs: u64,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

fn numbers(
    runs: u64,
    rows: &[Row],
    metrics: &[&Metric],
    values: &[Vec<Option<Value>>],
) -> Vec<Number> {
    let mut numbers = Vec::new();
    for (row, values) in rows.iter().zip(values) {
        for (metric, value) in metrics.iter().zip(values) {
            let interval = value.as_ref().and_then(|value| value.interval);
            numbers.push(Number {
                lock: row.entry.name,
                row: row.label.clone(),
                metric: metric.name.clone(),
                title: metric.title.clone(),
                runs,
                value: value.as_ref().map(|value| value.value),
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            });
        }
    }
    numbers
}

/// One row per number, for programs that read tables.
fn as_list(numbers: &[Number]) -> Csv {
    let mut list = Csv::new([
        "lock", "row", "metric", "title", "runs", "value", "low", "high",
    ]);
    for number in numbers {
        let mut row = vec![
            number.lock.to_owned(),
            number.row.clone(),
            number.metric.clone(),
            number.title.clone(),
            number.runs.to_string(),
        ];
        row.extend([number.value, number.low, number.high].map(csv::number));
        list.push(row);
    }
    list
}
