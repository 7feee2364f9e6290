//! `locklab measure throughput`: how many locks a second real servers grant, and how long one takes, by what they keep on
//! disk, by the quorum, and by whether a replica has to have it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::options::number::whole;
use crate::options::server::Server;
use crate::options::{Ask, Out, interrupt};
use locklab_evidence::{of_quantity, quantile};
use locklab_lab::Exit;
use locklab_lab::data::document;
use locklab_lab::output::Stdout;
use locklab_lab::progress::Progress;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_model::scenario::Persistence;
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

Clients of one process, each with a key of its own, take and release a lock as
fast as they can, on one node, on one with a replica, and on a majority of three
and of five (claim A12). Servers and clients share this machine: compare the
settings, not the numbers of two machines. It takes a minute.

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
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

/// One setting. The interval is that of the mean, at 95 %.
#[derive(Debug, Serialize)]
struct Entry {
    nodes: u32,
    persistence: Persistence,
    replica: Replica,
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
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let programs = self.server.programs()?;
        let version = locklab_real::version(&programs)?;
        let store = self.out.store()?.below("throughput")?;
        let stop = interrupt::flag()?;
        let effort = Effort {
            clients: self.clients,
            times: self.times,
            lasts: Duration::from_millis(500),
        };
        let settings = SETTINGS.len() as u64;
        let progress = Progress::new("measuring", settings * u64::from(self.times));
        let measured = measure(&programs, effort, stop, &|| progress.add(1));
        progress.clear();
        let measured = measured?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        let entries = entries(&measured, self.clients);
        let table = as_table(&version, &entries);
        let data = document(
            "throughput",
            json!({ "redis": version, "results": entries }),
        );
        let provenance = Provenance {
            subject: "locks a second".into(),
            overrides: vec![],
            seeds: format!("{} measurements of each setting", self.times),
            environment: format!("{}, with its clients on one machine", server_name(&version)),
        };
        let list = list(&entries);
        let section =
            Section::of_table(table, list, data.clone(), provenance, &store, "throughput");
        let report = Report::of(section, data, Exit::AsPredicted);
        report.publish(Stdout::of(self.json))?;
        Ok(report.exit)
    }
}

fn entries(measured: &[Throughput], clients: u32) -> Vec<Entry> {
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let first = measured
        .first()
        .map_or(1.0, |first| mean(&first.per_second));
    let entry = |one: &Throughput| {
        let all = &one.per_second;
        let squares = all.iter().map(|value| value * value).sum();
        let interval = of_quantity(all.len() as u64, all.iter().sum(), squares);
        let taken_ms = |share| quantile(&one.taken_us, share).map(|us| f64::from(us) / 1000.0);
        let Setting {
            nodes,
            persistence,
            replica,
        } = one.setting;
        Entry {
            nodes,
            persistence,
            replica,
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

fn kept(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::None => "nothing",
        Persistence::Snapshot => "snapshots",
        Persistence::AofEverysec => "appendfsync everysec",
        Persistence::AofAlways => "appendfsync always",
        Persistence::AofNo => "appendfsync no",
    }
}

fn as_table(version: &str, entries: &[Entry]) -> Table {
    let most = entries
        .iter()
        .map(|entry| entry.locks_per_second)
        .fold(1.0, f64::max);
    let row = |entry: &Entry| {
        let nodes = match (entry.nodes, entry.replica) {
            (1, Replica::None) => "one node".to_owned(),
            (1, Replica::Behind) => "one node and a replica".to_owned(),
            (1, Replica::Awaited) => "one node, WAIT for its replica".to_owned(),
            (nodes, _) => format!("{nodes} nodes"),
        };
        let in_ms = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms:.2} ms"));
        let interval = match (entry.low, entry.high) {
            (Some(low), Some(high)) => format!("{low:.0}–{high:.0}"),
            _ => "–".into(),
        };
        TableRow {
            label: format!("{nodes}, {}", kept(entry.persistence)),
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
    Table {
        title: format!(
            "Locks a second on {}, by what the nodes keep on disk",
            server_name(version)
        ),
        rows_are: "setting",
        columns: [
            "locks a second",
            "95 % interval",
            "beside one node that keeps nothing",
            "median until it is taken",
            "99th percentile",
        ]
        .map(String::from)
        .into(),
        rows: entries.iter().map(row).collect(),
        legend: vec![],
        notes: vec![
            "A lock is SET NX PX and a release that compares, each with its reply, by one of the \
             clients at the same time; of five nodes three have to grant it, of three two."
                .into(),
            "Servers and clients share one machine: compare the settings, not machines.".into(),
        ],
    }
}

fn list(entries: &[Entry]) -> Csv {
    let mut list = Csv::new([
        "nodes",
        "persistence",
        "replica",
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
        let [persistence, replica] = [json!(entry.persistence), json!(entry.replica)]
            .map(|word| word.as_str().unwrap_or_default().to_owned());
        let mut row = vec![
            entry.nodes.to_string(),
            persistence,
            replica,
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
