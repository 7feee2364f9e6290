//! The options of every command that makes many runs.

use std::time::Duration;

use clap::Args;

use super::interrupt;
use super::number::whole;
use crate::options::{Context, Out};
use locklab_lab::output::Stdout;
use locklab_lab::{Session, Shard, Stop};
use locklab_values::durations::{YEAR_MS, parse_ms};
use locklab_values::units::ns_from_fractional_ms;

/// What every command that makes runs is told: where its results go, and on how many threads.
#[derive(Args, Clone)]
pub(crate) struct Basics {
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// What a command that makes many runs is told beside that.
#[derive(Args, Clone)]
pub(crate) struct Many {
    /// Only the K-th of N shards; join their ledgers with locklab shards merge
    #[arg(long, value_name = "K/N", help_heading = "Many runs")]
    shard: Option<Shard>,
    /// Stop after this time, and until then run further seeds: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Many runs")]
    pub(crate) budget: Option<Duration>,
    /// Discard the results of an interrupted command instead of resuming it
    #[arg(long, help_heading = "Many runs")]
    fresh: bool,
    #[command(flatten)]
    pub(crate) basics: Basics,
}

/// How many threads run.
#[derive(Args, Clone)]
pub(crate) struct Jobs {
    /// Threads to run on; by default one for each core
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1024))]
    jobs: Option<u16>,
}

impl Jobs {
    pub(crate) fn threads(&self) -> usize {
        self.jobs.map(usize::from).unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        })
    }
}

impl Basics {
    /// How the runs are made. It checks that the folder of results can be written.
    pub(crate) fn session(&self, context: &Context) -> anyhow::Result<Session> {
        Ok(Session {
            program: context.program.clone(),
            store: self.out.store()?,
            threads: self.jobs.threads(),
            shard: None,
            fresh: false,
            stdout: Stdout::of(self.json),
            joined: context.joined.clone(),
            words: context.words.clone(),
            stop: Stop::by_user(interrupt::flag()?),
        })
    }
}

impl Many {
    /// How the runs are made. It checks that the folder of results can be written.
    pub(crate) fn session(&self, context: &Context) -> anyhow::Result<Session> {
        Ok(Session {
            shard: self.shard,
            fresh: self.fresh,
            stop: Stop::within(interrupt::flag()?, self.budget),
            ..self.basics.session(context)?
        })
    }

    /// What goes to standard output.
    pub(crate) fn stdout(&self) -> Stdout {
        Stdout::of(self.basics.json)
    }

    /// Whether results of an interrupted command are discarded.
    pub(crate) fn fresh(&self) -> bool {
        self.fresh
    }

    /// The same runs as the shards that are joined, and where the result goes.
    pub(crate) fn joined(&mut self, out: Out, json: bool) {
        self.shard = None;
        self.budget = None;
        self.basics.out = out;
        self.basics.json = json;
    }
}

/// `90s`, `5m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let ms = parse_ms(text).filter(|ms| (1.0..=YEAR_MS).contains(ms));
    let ns = ms.map(|ms| ns_from_fractional_ms(ms) as u64);
    let duration = ns.map(Duration::from_nanos);
    duration.ok_or_else(|| format!("invalid duration `{text}`; write 90s, 5m or 1h"))
}
