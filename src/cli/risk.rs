//! `locklab risk`: how often a lock fails in an environment.

mod answer;

use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use locklab_experiments::layout;
use locklab_experiments::output::{self, Stdout};
use locklab_experiments::progress::Progress;
use locklab_model::scenario;
use locklab_risk::{
    Demand, Effort, Environment, RiskError, SHIPPED, Setup, Time, by_cause, variants, whole,
};
use locklab_values::dist::Dist;

use self::answer::Answer;
use super::many::Jobs;
use super::number::whole as whole_number;
use super::{Exit, interrupt, seeds};

const EXAMPLES: &str = "\
Examples:
  locklab risk --lease 10s --work 2s
  locklab risk redlock --lease 10s --work 2s --every 1h --environment functions
  locklab risk --lease 30s --work '{ log_normal = { median = 2000, sigma = 1 } }'
               --set environment.cause.gc.every='1 min' --quick

An environment says what goes wrong, how often and for how long: `locklab list
environments`, or a TOML file of your own. For each cause, runs of one grant of
the lock, which a fault strikes at a random time, say how likely it is that two
clients hold the lock at once, and that the resource is corrupted. With the
cause's frequency this is a number a year. The answer names the environment and
the source of each number; see docs/risk.md for what it means.

--set lock.…, workload.…, resource.…, topology.… and so on change the scenario
of the grant; --set environment.… changes the environment.

Exit codes: 0 an answer; 1 usage; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The lock, of `locklab list locks`
    #[arg(value_name = "LOCK", default_value = "set-nx-px")]
    lock: String,
    /// Its lease, such as 10s
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    lease: Time,
    /// How long the work under the lock takes: 2s, or a distribution of milliseconds in TOML
    #[arg(long, value_name = "TIME", value_parser = work)]
    work: Dist,
    /// How often the lock is asked for, on average, by all clients together
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = Time::parse)]
    every: Time,
    /// Another client always waits for the lock
    #[arg(long)]
    contended: bool,
    /// The environment: the name of a shipped one, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "jvm-on-vms")]
    environment: String,
    /// Override a value of the scenario, or of the environment; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Runs for each cause
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole_number::<u64>(100..=100_000_000))]
    runs: u64,
    /// Lengths that are exceeded less often than this are not looked for
    #[arg(long, value_name = "PROBABILITY", default_value_t = 1e-9, value_parser = probability)]
    until: f64,
    /// The answer alone, without the causes together and without what would change it
    #[arg(long)]
    quick: bool,
    /// The seed from which the seeds of all runs are drawn
    #[arg(long, value_name = "N", value_parser = seeds::one, default_value = "0")]
    seed: u64,
    /// Print the answer as JSON on standard output
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print the causes as a table in this format
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values, a row for each cause and property
    Csv,
}

/// A time with a unit, or a distribution of milliseconds.
fn work(text: &str) -> Result<Dist, String> {
    match text.trim_start().starts_with('{') {
        false => Time::parse(text).map(|time| Dist::Constant(time.0)),
        true => {
            #[derive(serde::Deserialize)]
            struct Written {
                work: Dist,
            }
            let read = scenario::read::<Written>("--work", &format!("work = {text}"), &[]);
            read.map(|it| it.work).map_err(|error| error.to_string())
        }
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (1e-15..=0.1).contains(&value) => Ok(value),
        _ => Err(format!(
            "invalid probability \"{text}\"; write a number from 1e-15 to 0.1"
        )),
    }
}

/// An override of an environment. A time needs no quotes: `cause.gc.every=1 min`.
fn quoted(set: &str) -> String {
    match set.split_once('=') {
        Some((path, time)) if path.ends_with(".every") && Time::parse(time).is_ok() => {
            format!("{path}=\"{}\"", time.trim())
        }
        _ => set.to_owned(),
    }
}

pub(super) fn risk(options: &Options) -> anyhow::Result<Exit> {
    const PREFIX: &str = "environment.";
    let of_environment = options
        .sets
        .iter()
        .filter_map(|set| set.strip_prefix(PREFIX));
    let of_environment: Vec<String> = of_environment.map(quoted).collect();
    let of_scenario = options.sets.iter().filter(|set| !set.starts_with(PREFIX));
    let setup = Setup {
        lock: options.lock.clone(),
        lease: options.lease,
        work_ms: options.work.clone(),
        demand: match options.contended {
            true => Demand::Contended,
            false => Demand::Poisson {
                every_ms: options.every.0,
            },
        },
        sets: of_scenario.cloned().collect(),
        environment: Environment::load(&options.environment, &of_environment)?,
    };
    let stop = interrupt::flag()?;
    let progress = Progress::counting("simulating grants");
    let effort = Effort {
        runs: options.runs,
        until: options.until,
        seed: options.seed,
        threads: options.jobs.threads(),
        stop,
        progress: &|runs| progress.add(runs),
    };
    let made = answer(&setup, options, effort);
    progress.clear();
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    let answer = made?;
    match (options.json, options.format) {
        (true, _) => output::print_json(&answer.json())?,
        (false, Some(Format::Csv)) => output::print_exactly(&answer.csv())?,
        (false, None) => Stdout::Text.tell(&answer.text())?,
    }
    Ok(Exit::AsPredicted)
}

fn answer<'s>(
    setup: &'s Setup,
    options: &Options,
    effort: Effort<'_>,
) -> Result<Answer<'s>, RiskError> {
    let by_cause = by_cause(setup, effort)?;
    let (together, variants) = match options.quick {
        true => (None, Vec::new()),
        false => (
            Some(whole(setup, &by_cause, effort)?),
            variants(setup, &by_cause, effort)?,
        ),
    };
    Ok(Answer {
        setup,
        every: options.every,
        runs: options.runs,
        by_cause,
        together,
        variants,
    })
}

/// The environments that ship, for `locklab list`.
pub(super) fn environments() -> anyhow::Result<(String, serde_json::Value)> {
    let (mut text, mut data) = (String::new(), Vec::new());
    for (name, _) in SHIPPED {
        let environment = Environment::load(name, &[])?;
        let about = environment.about.trim().replace('\n', " ");
        text += &layout::fold(&format!("{name}: {}\n  {about}\n", environment.title));
        let causes = environment.cause.iter();
        let rows = causes.map(|(name, cause)| {
            let every = format!("every {}", cause.every);
            [name.clone(), every, cause.title.clone()]
        });
        text += &(layout::list(&rows.collect::<Vec<_>>()) + "\n\n");
        let causes = environment.cause.iter();
        let causes = causes.map(|(name, cause)| {
            serde_json::json!({
                "name": name, "title": cause.title, "per_year": cause.every.per_year(),
                "source": cause.source, "why": cause.why,
            })
        });
        data.push(serde_json::json!({
            "name": name,
            "title": environment.title,
            "about": environment.about,
            "causes": causes.collect::<Vec<_>>(),
        }));
    }
    Ok((text, serde_json::json!(data)))
}
