//! `locklab advise`: which lock to use, and what will go wrong with it.

use std::io::{IsTerminal, stdin};

use clap::Args;
use clap::builder::BoolishValueParser;
use locklab_lab::{Exit, conduct};

use super::Advise;
use super::answers::{Given, Protects, Server};
use super::today::Today;
use crate::options::many::Basics;
use crate::options::number::whole;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context};
use crate::problems::lock_completer;
use crate::risk::model::Time;

const EXAMPLES: &str = "\
Examples:
  locklab advise
  locklab advise --for efficiency --servers redis --work 2s
  locklab advise --for correctness --tokens no --servers redis,database
                 --work 30s --every 10s --environment functions
  locklab advise --for efficiency --servers sentinel --work 2s
                 --today set-nx-px --lease 1s --set lock.release=del

In a terminal it asks for what no option says. The answer is a page: the lock
and its settings, what it survives, how often it fails in a year, what each
change would bring, what it costs, and which libraries have it. Each number has
the command that makes it again; docs/choosing.md has the reasons.

Exit codes: 0 an answer; 1 usage; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// What the lock protects
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    protects: Option<Protects>,
    /// Whether the resource can compare tokens: refuse a write with a lower number than one that it has seen
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new(),
          hide_possible_values = true)]
    tokens: Option<bool>,
    /// Which servers there are, several with commas
    #[arg(long, value_enum, value_name = "SERVER", value_delimiter = ',')]
    servers: Vec<Server>,
    /// How long the work under the lock takes: 2s, or a distribution of milliseconds in TOML
    #[arg(long, value_name = "TIME")]
    work: Option<String>,
    /// How often one lock is asked for, on average, by all clients together [default: 1min]
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    /// On what machines: a shipped environment, or a file such as `locklab record` writes [default: jvm-on-vms]
    #[arg(long, value_name = "NAME|FILE")]
    environment: Option<String>,
    /// The lock of today, to see what is wrong about it
    #[arg(long, value_name = "LOCK", add = lock_completer(), requires = "lease")]
    today: Option<String>,
    /// Its lease
    #[arg(long, value_name = "TIME", value_parser = Time::parse, requires = "today")]
    lease: Option<Time>,
    /// Its settings, such as lock.release=del, workload.check=deadline or workload.extend_every_ms=3000
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer(), requires = "today")]
    sets: Vec<String>,
    /// Runs for each cause; a tenth where each takes as long as ten others
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = whole::<u64>(100..=100_000_000))]
    runs: u64,
    #[command(flatten)]
    basics: Basics,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let given = Given {
            protects: self.protects,
            tokens: self.tokens,
            servers: self.servers.clone(),
            work: self.work.clone(),
            every: self.every.clone(),
            environment: self.environment.clone(),
        };
        let person = stdin().is_terminal().then(|| stdin().lock());
        let answers = given.complete(person)?;
        let today = match (&self.today, self.lease) {
            (Some(lock), Some(lease)) => Some(Today {
                lock: lock.clone(),
                lease,
                sets: self.sets.clone(),
            }),
            _ => None,
        };
        let advise = Advise::plan(answers, today, self.runs)?;
        conduct(&advise, &self.basics.session(context)?)
    }
}
