//! `locklab reproduce`: the debate on Redis locks, claim by claim, executed and published.

use clap::Args;

use super::many::Many;
use super::run::On;
use super::{Context, Exit};
use locklab_experiments::conduct;
use locklab_experiments::reproduce::{self, Reproduce};

const EXAMPLES: &str = "\
Examples:
  locklab reproduce --quick                  every claim, without sweeps
  locklab reproduce                          with sweeps: some minutes
  locklab reproduce --only K10,R             one claim, and all of redis.io's page
  locklab reproduce --on redis               every claim on real Redis too

Writes index.html, one page that needs no network. It shows for each claim its text, the prediction,
the observation, the picture of a run, and the command that repeats it.

Letters: K, F Kleppmann; A antirez; R, S redis.io; J published numbers.

Exit codes: 0 every claim came out as predicted; 1 usage; 2 one did not; 3 one had too few runs;
130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Only these claims: letters, or letters with numbers
    #[arg(long, value_name = "CLAIM", value_delimiter = ',')]
    only: Vec<String>,
    /// Skip the sweeps
    #[arg(long)]
    quick: bool,
    /// Where to run: in the simulator, or also on real Redis
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    #[command(flatten)]
    pub(super) many: Many,
}

pub(super) fn reproduce(options: &Options, context: &Context) -> anyhow::Result<Exit> {
    let reproduce = Reproduce::plan(&reproduce::Options {
        only: options.only.clone(),
        quick: options.quick,
        on: options.on.into(),
    })?;
    conduct(&reproduce, &options.many.session(context)?)
}
