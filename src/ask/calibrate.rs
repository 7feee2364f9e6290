//! `locklab measure constants`: the model's constants beside those of this machine's Redis and kernel.

use anyhow::Context;
use clap::Args;
use serde_json::json;

use crate::options::number::whole;
use crate::options::server::Server;
use crate::options::{Ask, Out, interrupt};
use locklab_lab::Exit;
use locklab_lab::data::document;
use locklab_lab::output::{Stdout, status};
use locklab_lab::progress::Progress;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_real::RealRedis;
use locklab_real::calibrate::{Constant, Effort, Times, measure};
use locklab_report::Provenance;
use locklab_results::csv::{Csv, number};
use locklab_results::recording::server_name;
use locklab_results::table::{Field, Look, Table, TableRow};

const EXAMPLES: &str = "\
Examples:
  locklab measure constants
  locklab measure constants --runs 24 --at-once 3   more runs, three at a time
  locklab measure constants --server /opt/valkey/bin/valkey-server

Measures the periods of real servers, the steps of a failover by real
Sentinels, how much of an append-only file is lost in a power failure, and when
this machine's kernel retransmits a lost TCP segment; and the same in the
simulator. It takes about two minutes.

Exit codes: 0 the model's medians are near the real ones; 1 usage; 2 some are
not; 3 something could not be measured; 130 interrupted.";

/// Runs of each scenario in the world.
const WORLD_RUNS: u64 = 200;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Measurements of each constant
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole::<u64>(1..=1000))]
    runs: u64,
    /// Runs on real Redis at the same time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = whole::<u16>(1..=64))]
    at_once: u16,
    #[command(flatten)]
    server: Server,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let programs = self.server.programs()?;
        let version = locklab_real::version(&programs)?;
        let store = self.out.store()?;
        let stop = interrupt::flag()?;
        let effort = Effort {
            world_runs: WORLD_RUNS,
            real_runs: self.runs,
            at_once: usize::from(self.at_once),
        };
        status!("measuring, for about two minutes …");
        let progress = Progress::new("measuring", effort.all_real_runs());
        let real = RealRedis {
            stop,
            ..RealRedis::new(programs)
        };
        let constants = measure(&real, effort, stop, &|| progress.add(1));
        progress.clear();
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        let constants = constants
            .map_err(anyhow::Error::from_boxed)
            .context("cannot measure")?;
        let table = Table {
            title: format!(
                "The model's times beside those of {} and of Linux",
                server_name(&version)
            ),
            rows_are: "what",
            columns: ["from when to when", "model", "measured", "values", "agrees"]
                .map(String::from)
                .into(),
            rows: constants.iter().map(row).collect(),
            legend: vec![
                (Look::Holds, "the medians agree"),
                (Look::Inconclusive, "not measured"),
                (Look::Differs, "they differ"),
            ],
            notes: vec![
                "In milliseconds: the median, and the range of the middle 90 %.".into(),
                "They agree if the model's median is within a tenth or 10 ms of the 95 % interval of \
                 the real one."
                    .into(),
            ],
        };
        let data = document(
            "calibrate",
            json!({
                "redis": version,
                "constants": constants.iter().map(entry).collect::<Vec<_>>(),
            }),
        );
        let provenance = Provenance {
            subject: "the model's times".into(),
            overrides: vec![],
            seeds: format!("{WORLD_RUNS} runs in the world, {} for real", self.runs),
            environment: format!("simulated world, {} and Linux", server_name(&version)),
        };
        let verdicts: Vec<_> = constants
            .iter()
            .map(|constant| constant.model.agree_with(&constant.real))
            .collect();
        let exit = if verdicts.contains(&Some(false)) {
            Exit::Differs
        } else if verdicts.contains(&None) {
            Exit::Inconclusive
        } else {
            Exit::AsPredicted
        };
        let list = list(&constants);
        let section = Section::of_table(table, list, data.clone(), provenance, &store, "calibrate");
        let report = Report::of(section, data, exit);
        report.publish(Stdout::of(self.json))?;
        Ok(report.exit)
    }
}

fn row(constant: &Constant) -> TableRow {
    let plain = |text: String| Field {
        detail: text.clone(),
        text,
        look: Look::Silent,
    };
    let (words, look) = match constant.model.agree_with(&constant.real) {
        Some(true) => ("yes", Look::Holds),
        Some(false) => ("NO", Look::Differs),
        None => ("not measured", Look::Inconclusive),
    };
    TableRow {
        label: constant.name.clone(),
        fields: vec![
            plain(constant.meaning.clone()),
            plain(words_of(&constant.model)),
            plain(words_of(&constant.real)),
            plain(constant.real.count().to_string()),
            Field {
                look,
                ..plain(words.into())
            },
        ],
    }
}

/// The 5 % quantile, the median, and the 95 % quantile, in milliseconds.
fn quantiles(times: &Times) -> [f64; 3] {
    [
        times.quantile_ms(0.05),
        times.median_ms(),
        times.quantile_ms(0.95),
    ]
}

/// The median, and the middle 90 % unless all are the same.
fn words_of(times: &Times) -> String {
    let [low, median, high] = quantiles(times).map(f64::round);
    match times.count() {
        0 => "–".into(),
        _ if low == high => format!("{median}"),
        _ => format!("{median} ({low}–{high})"),
    }
}

/// A row for each constant, in the model and for real.
fn list(constants: &[Constant]) -> Csv {
    let mut csv = Csv::new([
        "name",
        "meaning",
        "where",
        "values",
        "p05_ms",
        "median_ms",
        "p95_ms",
    ]);
    for constant in constants {
        for (place, times) in [("model", &constant.model), ("real", &constant.real)] {
            let mut row = [&constant.name, &constant.meaning, place]
                .map(String::from)
                .to_vec();
            row.push(times.count().to_string());
            row.extend(quantiles(times).map(|ms| number(Some(ms))));
            csv.push(row);
        }
    }
    csv
}

fn entry(constant: &Constant) -> serde_json::Value {
    let times = |times: &Times| {
        let [p05_ms, median_ms, p95_ms] = quantiles(times);
        json!({
            "values": times.count(),
            "p05_ms": p05_ms,
            "median_ms": median_ms,
            "p95_ms": p95_ms,
        })
    };
    json!({
        "name": constant.name,
        "meaning": constant.meaning,
        "model": times(&constant.model),
        "real": times(&constant.real),
        "agrees": constant.model.agree_with(&constant.real),
    })
}
