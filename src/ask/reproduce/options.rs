//! `locklab reproduce`: the debate on Redis locks, claim by claim, executed and published.

use std::path::PathBuf;

use clap::Args;

use crate::options::many::Many;
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
  locklab reproduce --claims ours.toml  claims of your own

Writes index.html, one page that needs no network. It shows for each claim its
text, the prediction, the observation, the picture of a run, and the command
that repeats it. After the claims it compares all locks under one fault at
every step, as `locklab place --all` does (half a minute); not with --quick,
--only or --claims.

A file of claims has the form of src/ask/reproduce/claims.toml, and may begin
with `title` and `about`, the heading of the page and its first paragraph.
Scenarios are the names of shipped ones, or files, named from the folder of the
claims.

Letters: K, F Kleppmann; A antirez; R, S redis.io; J published numbers.

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
            on: self.on.into(),
        })?;
        conduct(&reproduce, &self.many.session(context)?)
    }
}
