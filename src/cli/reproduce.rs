//! `locklab reproduce`: the debate on Redis locks, claim by claim, executed and published.

use std::path::PathBuf;

use clap::Args;

use super::many::Many;
use super::run::On;
use super::{Context, Exit};
use locklab_experiments::conduct;
use locklab_experiments::reproduce::{self, Reproduce};

const EXAMPLES: &str = "\
Examples:
  locklab reproduce --quick             every claim, without sweeps
  locklab reproduce                     with sweeps: some minutes
  locklab reproduce --only K10,R        one claim, and all of redis.io's page
  locklab reproduce --on redis          every claim on real Redis too
  locklab reproduce --claims ours.toml  claims of your own

Writes index.html, one page that needs no network. It shows for each claim its
text, the prediction, the observation, the picture of a run, and the command
that repeats it. After the claims it compares all locks under one fault at
every step, as `locklab place --all` does (half a minute); not with --quick,
--only or --claims.

A file of claims has the form of src/critique/claims.toml, and may begin with
`title` and `about`, the heading of the page and its first paragraph. Scenarios
are the names of shipped ones, or files, named from the folder of the claims.

Letters: K, F Kleppmann; A antirez; R, S redis.io; J published numbers.

Exit codes: 0 every claim came out as predicted; 1 usage; 2 one did not; 3 one
had too few runs; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// A file of claims instead of those that ship
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// Only these claims: letters, or letters with numbers
    #[arg(long, value_name = "CLAIM", value_delimiter = ',')]
    only: Vec<String>,
    /// Skip the sweeps, and the comparison of locks under one fault at every step
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
        claims: options.claims.clone(),
        only: options.only.clone(),
        quick: options.quick,
        on: options.on.into(),
    })?;
    conduct(&reproduce, &options.many.session(context)?)
}
