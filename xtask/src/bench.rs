//! Times one workload in three simulators, in alternating turns, and compares them.
//!
//! `benches/peers` defines the workload. A program for each simulator times it a number of
//! times and prints the median as one line of JSON. The programs take turns here, so that a
//! machine that slows down slows all of them, and the median of the turns is reported.

pub mod instructions;
pub mod serve;
mod table;

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use table::Row;

use crate::tool::perform;

/// The number of turns of each simulator.
const TURNS: usize = 5;
const README: &str = "README.md";
const PEERS: &str = "benches/peers";

/// Builds all three, times them, and prints the table; writes the ratios into the README, between two
/// comments, if that is wanted.
pub fn run(into_readme: bool) -> Result<()> {
    build()?;
    let mut seconds = [const { Vec::new() }; SIMULATORS.len()];
    for turn in 1..=TURNS {
        for (simulator, seconds) in SIMULATORS.iter().zip(&mut seconds) {
            let timing = simulator.time()?;
            eprintln!(
                "turn {turn} of {TURNS}: {}: median of {} runs, {}",
                timing.peer,
                timing.runs,
                table::milliseconds(timing.seconds_per_run)
            );
            seconds.push(timing.seconds_per_run);
        }
    }
    let rows = SIMULATORS.iter().zip(seconds).map(|(simulator, seconds)| {
        let (title, seconds) = (simulator.title, median(seconds));
        println!("{title}: {}", table::milliseconds(seconds));
        Row { title, seconds }
    });
    let rows: Vec<Row> = rows.collect();
    let ratios = table::ratios(&rows);
    println!("{ratios}");
    if into_readme {
        let readme = std::fs::read_to_string(README).with_context(|| format!("read {README}"))?;
        let readme = table::with_block(&readme, &ratios).context(README)?;
        std::fs::write(README, readme).with_context(|| format!("write {README}"))?;
    }
    Ok(())
}

/// Builds the workload in every simulator.
pub fn build() -> Result<()> {
    { SIMULATORS.iter() }.try_for_each(|it| perform(it.cargo(it.build)).context(it.title))
}

/// The times of the others are compared with that of the first.
const SIMULATORS: [Simulator; 3] = [
    Simulator {
        title: "Locklab's world",
        peer: "locklab",
        folder: ".",
        build: "bench --package locklab-world --bench world --no-run",
        run: "bench --quiet --package locklab-world --bench world -- --json",
    },
    Simulator {
        title: "madsim 0.2",
        peer: "madsim",
        folder: PEERS,
        build: "build --release --bin madsim",
        run: "run --quiet --release --bin madsim",
    },
    Simulator {
        title: "turmoil 0.7, `Sim`",
        peer: "turmoil",
        folder: PEERS,
        build: "build --release --bin turmoil",
        run: "run --quiet --release --bin turmoil",
    },
];

struct Simulator {
    /// The name in the table.
    title: &'static str,
    /// The name of its program.
    peer: &'static str,
    folder: &'static str,
    /// The arguments of cargo.
    build: &'static str,
    run: &'static str,
}

/// The output of a program: the median of its runs.
#[derive(Deserialize)]
struct Timing {
    peer: String,
    runs: u64,
    seconds_per_run: f64,
    messages: u64,
}

impl Simulator {
    fn time(&self) -> Result<Timing> {
        let context = || format!("{}: `cargo {}`", self.title, self.run);
        let output = self.cargo(self.run).stderr(Stdio::inherit()).output();
        let output = output.with_context(context)?;
        if !output.status.success() {
            bail!("{}: {}", context(), output.status);
        }
        parse(&output.stdout, self.peer).with_context(context)
    }

    fn cargo(&self, arguments: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .args(arguments.split(' '))
            .current_dir(self.folder)
            // Otherwise it would replace the flags in the peers' own configuration.
            .env_remove("RUSTFLAGS")
            // The peers' manifest sets the same, so that all are optimised equally.
            .env("CARGO_PROFILE_BENCH_LTO", "fat")
            .env("CARGO_PROFILE_BENCH_CODEGEN_UNITS", "1");
        cargo
    }
}

/// Three clients, five servers, thirty rounds, a request and a reply.
const MESSAGES: u64 = 900;

fn parse(stdout: &[u8], peer: &str) -> Result<Timing> {
    let timing: Timing = serde_json::from_slice(stdout).context("its output is not a timing")?;
    if timing.peer != peer {
        bail!("it calls itself {}, not {peer}", timing.peer);
    }
    if timing.messages != MESSAGES {
        bail!("it sent {} messages, not {MESSAGES}", timing.messages);
    }
    if !timing.seconds_per_run.is_normal() || timing.runs == 0 {
        bail!("it timed nothing");
    }
    Ok(timing)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_leaves_out_the_outliers() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![3.0]), 3.0);
    }

    #[test]
    fn another_workload_is_not_compared() {
        let line = |peer, messages| {
            format!(r#"{{"peer":"{peer}","runs":5,"seconds_per_run":0.2,"messages":{messages}}}"#)
        };
        assert_eq!(parse(line("a", 900).as_bytes(), "a").unwrap().runs, 5);
        assert!(parse(line("b", 900).as_bytes(), "a").is_err());
        assert!(parse(line("a", 901).as_bytes(), "a").is_err());
        assert!(parse(b"running 0 tests", "a").is_err());
    }
}
