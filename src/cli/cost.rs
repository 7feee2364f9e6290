//! `locklab cost`: the cost of every lock, and the waiting times of its clients.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::sync::Mutex;

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use console::style;
use locklab_values::random::Stream;
use serde::Serialize;
use serde_json::json;

use super::bug::Bug;
use super::matrix::{self, chosen_rows};
use super::progress::Progress;
use super::say::{self, tell};
use super::seeds::Seeds;
use super::store::Store;
use super::{Exit, Jobs, Out, cells, data, interrupt, resumable, table};
use locklab_evidence::{Interval, bootstrap, thousands};
use locklab_matrix::metrics::{Measure, Sample};
use locklab_matrix::plan::About;
use locklab_matrix::{Metric, Plan, Row, put_in};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_report::Provenance;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_runner::ledger::Ledger;
use locklab_runner::pool::{self, Broken, lock};
use locklab_runner::simulate::{Keep, simulate};

const EXAMPLES: &str = "\
Examples:
  locklab cost
  locklab cost --lock set-nx-px --lock redlock --seeds 1000

Two tables: what a lock costs (messages, latency in virtual time, work done twice), and
liveness (time to the next grant after a crash, overtaking, messages caused by a release).
The network's latency is that of the scenarios in scenarios/costs: 1 to 5 ms one way. There
are 95 % intervals, from the bootstrap over runs; the longest wait has none.";

/// More samples would exhaust the memory.
const MOST_SEEDS: u64 = 1_000_000;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Locks, or single forms of one; by default all
    #[arg(long = "lock", value_name = "LOCK", value_parser = matrix::lock, add = matrix::lock_completer())]
    locks: Vec<String>,
    /// Seeds for each number: 0..N, or A..B, the end excluded
    #[arg(
        long,
        value_name = "N|A..B",
        default_value = "50",
        allow_hyphen_values = true
    )]
    seeds: Seeds,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    jobs: Jobs,
}

pub(super) fn cost(options: &Options) -> anyhow::Result<Exit> {
    ensure!(
        options.seeds.count() <= MOST_SEEDS,
        "what every run costs is kept to the end, so there can be at most {} of each kind",
        thousands(MOST_SEEDS)
    );
    let rows = chosen_rows(&options.locks);
    let metrics = Plan::shipped().metrics;
    let store = Store::open(&options.out)?.below("cost")?;
    let (samples, is_whole) = measure(options, &rows, &metrics, &store)?;
    let mut all = Vec::new();
    for (about, stem, title) in [
        (About::Cost, "cost", "What a lock costs"),
        (About::Liveness, "liveness", "Waiting for a lock"),
    ] {
        let metrics: Vec<&Metric> = metrics.iter().filter(|g| g.about == about).collect();
        let values = values(&rows, &metrics, &samples);
        let runs = thousands(options.seeds.count());
        let title = match is_whole {
            true => format!("{title} ({runs} runs each)"),
            false => format!("{title} (at most {runs} runs each; interrupted)"),
        };
        let table = as_table(title, &rows, &metrics, &values);
        tell!("{}\n", style(&table.title).for_stderr().bold());
        tell!("{}", table.plain());
        let part = numbers(options.seeds.count(), &rows, &metrics, &values);
        let provenance = Provenance {
            subject: format!("{stem} of locks"),
            overrides: vec![],
            seeds: format!("seeds {} in each cell", options.seeds),
            environment: "simulated world".into(),
        };
        let document = data::document("cost", json!({ "results": part }));
        table::write(
            &store,
            stem,
            &table,
            &as_list(&part),
            &document,
            &provenance,
        )?;
        tell!();
        all.extend(part);
    }
    if options.json {
        say::print_json(&data::document("cost", json!({ "results": all })))?;
    }
    Ok(match is_whole {
        true => Exit::AsPredicted,
        false => Exit::Interrupted,
    })
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

/// The samples of every row in every setting, one per run, and whether these are all; metrics of the
/// same setting share its runs. Finished settings are kept: after Ctrl-C the same command does the
/// rest.
fn measure(
    options: &Options,
    rows: &[Row],
    metrics: &[Metric],
    store: &Store,
) -> anyhow::Result<(BTreeMap<Place, Vec<Sample>>, bool)> {
    let mut scenarios: BTreeMap<Place, Scenario> = BTreeMap::new();
    for row in rows {
        for metric in metrics {
            let scenario = put_in(row, &metric.scenario, &metric.set, &metric.setting());
            scenarios.insert(
                place(row, metric),
                scenario.map_err(|error| anyhow!(error))?,
            );
        }
    }
    let (places, scenarios): (Vec<Place>, Vec<Scenario>) = scenarios.into_iter().unzip();
    let path = store.path("cost.jsonl");
    let header = resumable::header(&(&scenarios, options.seeds.range()))?;
    let reason = || format!("cannot keep results in {}", path.display());
    let (ledger, mut kept) = Ledger::open(&path, &header, false).with_context(reason)?;
    let ledger = Mutex::new(ledger);
    let ranges: Vec<Range<u64>> = (0..places.len())
        .map(|place| match kept.contains_key(&place) {
            true => 0..0,
            false => options.seeds.range(),
        })
        .collect();
    let samples: Vec<Mutex<BTreeMap<u64, Sample>>> = (0..places.len())
        .map(|place| Mutex::new(kept.remove(&place).unwrap_or_default()))
        .collect();
    let progress = Progress::new("measuring", cells::runs(&ranges));
    let run = |place: usize, seed, part: &mut BTreeMap<u64, Sample>| {
        let Drawn { scenario, schedule } = scenarios[place].drawn(seed);
        let run = simulate(&scenario, seed, &schedule, Keep::MESSAGES)?;
        part.insert(seed, Sample::of(&run.history));
        Ok(())
    };
    let failed = Mutex::new(None);
    let done = |place: usize, seeds: Range<u64>, part| {
        let mut samples = lock(&samples[place]);
        samples.extend(part);
        if samples.len() as u64 == options.seeds.count()
            && let Err(error) = lock(&ledger).add(place, &*samples)
        {
            lock(&failed).get_or_insert(error);
        }
        progress.add(seeds.end - seeds.start);
    };
    let stop = interrupt::flag()?;
    let ran = pool::run_chunks(&ranges, options.jobs.threads(), stop, run, done);
    progress.clear();
    ran.map_err(|broken| bug(broken, &places))?;
    if let Some(error) = lock(&failed).take() {
        return Err(error).with_context(reason);
    }
    let all = places.len() as u64 * options.seeds.count();
    let made = { samples.iter() }
        .map(|samples| lock(samples).len() as u64)
        .sum();
    match made == all {
        true => resumable::remove(&path)?,
        false => resumable::tell_stopped(made, all),
    }
    let by_seed = |samples: Mutex<BTreeMap<u64, Sample>>| {
        mem::take(&mut *lock(&samples)).into_values().collect()
    };
    let samples = samples.into_iter().map(by_seed);
    Ok((places.into_iter().zip(samples).collect(), made == all))
}

/// The error for a run of these places without a result.
fn bug(broken: Broken, places: &[Place]) -> anyhow::Error {
    let (row, scenario, ..) = &places[broken.job];
    let seeds = format!("{}..{}", broken.seed, broken.seed + 1);
    let reproduce = say::line(&["cost", "--lock", row, "--seeds", &seeds]);
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
