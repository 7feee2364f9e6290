//! `locklab measure throughput`: how many locks a second real servers grant, and how long one takes, by what they keep on
//! disk, by the quorum, by whether a replica has to have it, and on a database or a coordination service. Beside that, how
//! often such a lock fails, from results of `study risk`.

mod failing;

use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::json;

use self::failing::Failing;

use crate::options::number::whole;
use crate::options::server::Server;
use crate::options::{Ask, Out, interrupt};
use crate::risk::model::Time;
use locklab_evidence::{of_quantity, quantile};
use locklab_lab::Exit;
use locklab_lab::data::document;
use locklab_lab::output::Stdout;
use locklab_lab::progress::Progress;
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_model::scenario::{Commit, Persistence};
use locklab_real::throughput::{Effort, Replica, SETTINGS, Setting, Throughput, measure};
use locklab_report::Provenance;
use locklab_results::csv::{Csv, number};
use locklab_results::recording::server_name;
use locklab_results::table::{Field, Look, Table, TableRow};

const EXAMPLES: &str = "\
Examples:
  locklab measure throughput
  locklab measure throughput --clients 50 --times 20
  locklab measure throughput --server /opt/valkey/bin/valkey-server
  locklab measure throughput --risk reports/risk/jvm-on-vms/leases.json

Clients of one process, each with a lock of its own, take and release it as
fast as they can, on one Redis node, on one with a replica, on a majority of
three and of five (claim A12), and, where these are installed, on PostgreSQL and
on three members of ZooKeeper. Servers and clients share this machine: compare
the settings, not the numbers of two machines. It takes a minute and a half.

With the results of study risk, a table and a chart set what a lock costs
beside how often it fails in a year.

Exit codes: 0 measured; 1 usage; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Clients at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole::<u32>(1..=200))]
    clients: u32,
    /// Measurements of each setting, of half a second
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u32>(1..=1000))]
    times: u32,
    #[command(flatten)]
    server: Server,
    /// How often locks fail: the leases.json of study risk --leases
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    risk: Option<PathBuf>,
    /// The lease whose failures are shown, as it is in that file
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = Time::parse,
          requires = "risk")]
    lease: Time,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

/// One setting. The interval is that of the mean, at 95 %.
#[derive(Debug, Serialize)]
struct Entry {
    #[serde(flatten)]
    setting: Setting,
    clients: u32,
    measurements: usize,
    locks_per_second: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// Of what one node grants that keeps nothing.
    share: f64,
    /// How long it takes to take a lock, in milliseconds.
    median_ms: Option<f64>,
    p99_ms: Option<f64>,
    /// How often the locks that are such a one fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fails: Vec<Failing>,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let programs = self.server.programs()?;
        let failing = match &self.risk {
            Some(file) => failing::read(file, self.lease)?,
            None => vec![],
        };
        let store = self.out.store()?.below("throughput")?;
        let (mut settings, mut versions, mut notes) = (vec![], vec![], vec![]);
        for alike in SETTINGS.chunk_by(|a, b| discriminant(a) == discriminant(b)) {
            match alike[0].version(&programs) {
                Ok(version) => {
                    settings.extend(alike);
                    versions.push(server_name(&version));
                }
                Err(why) if matches!(alike[0], Setting::Redis { .. }) => return Err(why.into()),
                Err(why) => notes.push(format!("Not measured: {why}")),
            }
        }
        let stop = interrupt::flag()?;
        let effort = Effort {
            clients: self.clients,
            times: self.times,
            lasts: Duration::from_millis(500),
        };
        let all = settings.len() as u64 * u64::from(self.times);
        let progress = Progress::new("measuring", all);
        let measured = measure(&programs, &settings, effort, stop, &|| progress.add(1));
        progress.clear();
        let measured = measured?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        let entries = entries(&measured, self.clients, &failing);
        let mut table = as_table(&versions, &entries);
        table.notes.extend(notes);
        let risk = self.risk.as_deref();
        (table.notes).extend(risk.and_then(|file| failing::note(file, &failing)));
        let data = document(
            "throughput",
            json!({ "servers": versions, "results": entries }),
        );
        let provenance = Provenance {
            subject: "locks a second".into(),
            overrides: vec![],
            seeds: format!("{} measurements of each setting", self.times),
            environment: format!("{}, with their clients on one machine", versions.join(", ")),
        };
        let list = list(&entries);
        let chart = failing::chart(&entries, self.lease);
        let section = Section::of_table(
            table,
            list,
            data.clone(),
            provenance.clone(),
            &store,
            "throughput",
        );
        let mut report = Report::of(section, data, Exit::AsPredicted);
        if let Some(chart) = chart {
            let picture = chart.draw(&store.sheet)?;
            let of_chart = Provenance {
                subject: "how often locks fail, against what they cost".into(),
                ..provenance
            };
            report.sections.push(Section {
                forms: vec![Form::Chart(picture, of_chart)],
                ..Section::of(chart.title, &store, "failing")
            });
        }
        report.publish(Stdout::of(self.json))?;
        Ok(report.exit)
    }
}

fn entries(measured: &[Throughput], clients: u32, failing: &[Failing]) -> Vec<Entry> {
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let first = measured
        .first()
        .map_or(1.0, |first| mean(&first.per_second));
    let entry = |one: &Throughput| {
        let all = &one.per_second;
        let squares = all.iter().map(|value| value * value).sum();
        let interval = of_quantity(all.len() as u64, all.iter().sum(), squares);
        let taken_ms = |share| quantile(&one.taken_us, share).map(|us| f64::from(us) / 1000.0);
        let fails = failing.iter().filter(|it| it.is_of(&one.setting));
        Entry {
            setting: one.setting,
            fails: fails.cloned().collect(),
            median_ms: taken_ms(0.5),
            p99_ms: taken_ms(0.99),
            clients,
            measurements: all.len(),
            locks_per_second: mean(all),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            share: mean(all) / first,
        }
    };
    measured.iter().map(entry).collect()
}

/// A setting in words.
fn name(setting: &Setting) -> String {
    match setting {
        Setting::Redis {
            nodes,
            persistence,
            replica,
        } => {
            let nodes = match (nodes, replica) {
                (1, Replica::None) => "one node".to_owned(),
                (1, Replica::Behind) => "one node and a replica".to_owned(),
                (1, Replica::Awaited) => "one node, WAIT for its replica".to_owned(),
                (nodes, _) => format!("{nodes} nodes"),
            };
            format!("{nodes}, {}", kept(*persistence))
        }
        Setting::Database { commit } => match commit {
            Commit::Asynchronous => "PostgreSQL, synchronous_commit off".into(),
            Commit::Synchronous => "PostgreSQL, synchronous_commit on".into(),
        },
        Setting::Consensus => format!("ZooKeeper, {} members", setting.servers()),
    }
}

fn kept(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::None => "nothing",
        Persistence::Snapshot => "snapshots",
        Persistence::AofEverysec => "appendfsync everysec",
        Persistence::AofAlways => "appendfsync always",
        Persistence::AofNo => "appendfsync no",
    }
}

fn as_table(versions: &[String], entries: &[Entry]) -> Table {
    let most = entries
        .iter()
        .map(|entry| entry.locks_per_second)
        .fold(1.0, f64::max);
    let row = |entry: &Entry| {
        let in_ms = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms:.2} ms"));
        let interval = match (entry.low, entry.high) {
            (Some(low), Some(high)) => format!("{low:.0}–{high:.0}"),
            _ => "–".into(),
        };
        TableRow {
            label: name(&entry.setting),
            fields: vec![
                Field::plain(
                    format!("{:.0}", entry.locks_per_second),
                    Look::Bar(entry.locks_per_second / most),
                ),
                Field::plain(interval, Look::Silent),
                Field::plain(format!("{:.2}", entry.share), Look::Silent),
                Field::plain(in_ms(entry.median_ms), Look::Silent),
                Field::plain(in_ms(entry.p99_ms), Look::Silent),
            ],
        }
    };
    let (mut columns, mut rows): (Vec<String>, Vec<TableRow>) = (
        COLUMNS.map(String::from).into(),
        entries.iter().map(row).collect(),
    );
    if entries.iter().any(|entry| !entry.fails.is_empty()) {
        columns.extend(failing::COLUMNS.map(String::from));
        for (row, entry) in rows.iter_mut().zip(entries) {
            row.fields.extend(failing::fields(&entry.fails));
        }
    }
    Table {
        title: format!("Locks a second on {}", versions.join(", ")),
        rows_are: "setting",
        columns,
        rows,
        legend: vec![],
        notes: vec![
            "A lock is taken and released by one of the clients at the same time, each step with its reply: SET NX PX \
             and a release that compares; of five nodes three have to grant it, of three two. On PostgreSQL it is a row \
             whose owner, expiry and version are compared and set; on ZooKeeper a node that is the lowest of its parent."
                .into(),
            "Servers and clients share one machine: compare the settings, not machines.".into(),
        ],
    }
}

/// What is told of each setting.
const COLUMNS: [&str; 5] = [
    "locks a second",
    "95 % interval",
    "beside one node that keeps nothing",
    "median until it is taken",
    "99th percentile",
];

fn list(entries: &[Entry]) -> Csv {
    let mut list = Csv::new([
        "service",
        "nodes",
        "persistence",
        "replica",
        "commit",
        "clients",
        "measurements",
        "locks_per_second",
        "low",
        "high",
        "share",
        "median_ms",
        "p99_ms",
    ]);
    for entry in entries {
        let setting = json!(entry.setting);
        let word = |name: &str| setting[name].as_str().unwrap_or_default().to_owned();
        let mut row = vec![
            word("service"),
            entry.setting.servers().to_string(),
            word("persistence"),
            word("replica"),
            word("commit"),
            entry.clients.to_string(),
            entry.measurements.to_string(),
        ];
        let values = [
            Some(entry.locks_per_second),
            entry.low,
            entry.high,
            Some(entry.share),
            entry.median_ms,
            entry.p99_ms,
        ];
        row.extend(values.map(number));
        list.push(row);
    }
    list
}
