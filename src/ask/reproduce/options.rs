//! `locklab reproduce`: the debate on Redis locks, claim by claim, executed and published.

use std::path::PathBuf;

use clap::Args;

use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::{Ask, Context};
use crate::reproduce::{self, Reproduce};
use crate::run::options::On;
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab reproduce --quick             every claim, without sweeps
  locklab reproduce                     with sweeps: some minutes
  locklab reproduce --only K10,R        one claim, and all of redis.io's page
  locklab reproduce --on redis          every claim on real Redis too
  locklab reproduce --claims ours/claims.toml --seeds 5000
                                        claims of your own, with so many runs

Writes index.html, one page that needs no network, and claims.csv, the counts
behind it. The page shows for each claim its text, the prediction, the
observation, the picture of a run, and the command that repeats it. After the
claims it compares all locks under one fault at every step, as `study place
--all` does (half a minute); not with --quick, --only or --claims.

`locklab new ours --claims` writes a file of claims, in which each part is
explained. Without sweeps (--quick, or claims that have none) --budget runs
further seeds until the time is over.

Letters: K, F Kleppmann; A antirez; R, S redis.io; V Valkey; L LeaseGuard; J
published numbers.

Exit codes: 0 every claim came out as predicted; 1 usage; 2 one did not; 3 one
had too few runs; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A file of claims instead of those that ship
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// Only these claims: letters, or letters with numbers
    #[arg(long, value_name = "CLAIM", value_delimiter = ',')]
    only: Vec<String>,
    /// Skip the sweeps, and the comparison of locks under one fault at every step
    #[arg(long)]
    quick: bool,
    /// Runs of each scenario [default: as many as its predictions need]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=100_000_000))]
    seeds: Option<u64>,
    /// Where to run: in the simulator, or also on real Redis
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let reproduce = Reproduce::plan(&reproduce::Options {
            claims: self.claims.clone(),
            only: self.only.clone(),
            quick: self.quick,
            seeds: self.seeds,
            on: self.on.into(),
        })?;
        conduct(&reproduce, &self.many.session(context)?)
    }
}
