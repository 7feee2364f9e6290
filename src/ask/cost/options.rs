//! `locklab study cost`: the cost of every lock, and the waiting times of its clients.

use clap::Args;

use crate::cost::Cost;
use crate::options::many::Many;
use crate::options::seeds::Seeds;
use crate::options::{Ask, Context};
use crate::problems::{self, lock_completer};
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab study cost
  locklab study cost --lock set-nx-px --lock redlock --seeds 1000

Two tables: what a lock costs (messages, latency in virtual time, work done
twice), and liveness (time to the next grant after a crash, overtaking,
messages caused by a release). The network's latency is that of the scenarios
in scenarios/costs: 1 to 5 ms one way. There are 95 % intervals, from the
bootstrap over runs; the longest wait has none.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Locks, or single forms of one, by default all; `redlock ()` is the plain form
    /// alone
    #[arg(long = "lock", value_name = "LOCK", value_parser = problems::lock, add = lock_completer())]
    locks: Vec<String>,
    /// Seeds for each number: 0..N, or A..B, the end excluded
    #[arg(
        long,
        value_name = "N|A..B",
        default_value = "50",
        allow_hyphen_values = true
    )]
    seeds: Seeds,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let cost = Cost::plan(&self.locks, self.seeds.range())?;
        conduct(&cost, &self.many.session(context)?)
    }
}
