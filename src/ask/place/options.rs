//! `locklab study place`: a fault at every step of a run.

use clap::Args;

use crate::options::many::Many;
use crate::options::seeds::Seeds;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, scenario_completer};
use crate::place::{Faults, Place};
use crate::problems::{self, lock_completer};
use locklab_lab::{Exit, conduct};
use locklab_model::scenario;

const EXAMPLES: &str = "\
Examples:
  locklab study place kleppmann/k1
  locklab study place redis-docs/r5 --set lock.release=del --seeds 10
  locklab study place kleppmann/k1 --pairs
  locklab study place --all
  locklab study place --lock redlock --lock redlock-fenced --pairs
  locklab study place --fenced        what tokens withstand beyond the faults
                                      of their scenarios

The scenario is run once without its faults. Then each kind of fault is placed
at each step of that run, on each host that it can strike there: pauses,
suspensions, kills, power losses, lost and late messages, partitions, resets of
connections, wrong clocks, failovers. Their lengths follow from the lock's
lease. Placements that make the same run are run once. The result is a sentence,
tables by kind and by step, a picture of the run with what a fault at each step
does, and for each violation the command that repeats it.

Exit codes: 0 the map is complete, whatever it shows; 1 usage; 3 it is not
complete; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The scenario: the name of a shipped one, or a file; its own faults are left out
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["all", "locks", "fenced"],
          conflicts_with_all = ["all", "locks", "fenced"], add = scenario_completer())]
    scenario: Option<String>,
    /// Compare all locks, on a workload of two clients that take the lock in turn
    #[arg(long, conflicts_with = "locks")]
    all: bool,
    /// Compare these locks, or single forms of one, on that workload; `redlock ()` is
    /// the plain form alone
    #[arg(long = "lock", value_name = "LOCK", value_parser = problems::lock, add = lock_completer())]
    locks: Vec<String>,
    /// Compare the shipped scenarios that rely on a lock's fencing tokens: those that predict that
    /// the resource is never violated
    #[arg(long, conflicts_with_all = ["all", "locks"])]
    fenced: bool,
    /// Also place all pairs of faults
    #[arg(long)]
    pairs: bool,
    /// Seeds, each a run with other latencies: 0..N, or A..B, the end excluded
    #[arg(
        long,
        value_name = "N|A..B",
        default_value = "1",
        allow_hyphen_values = true
    )]
    seeds: Seeds,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let faults = match self.pairs {
            false => Faults::One,
            true => Faults::Two,
        };
        let seeds = self.seeds.range();
        let place = match &self.scenario {
            None if self.fenced => Place::of_fenced(&self.sets, seeds, faults)?,
            None => Place::of_locks(&self.locks, &self.sets, seeds, faults)?,
            Some(name) => Place::of_scenario(scenario::load(name, &self.sets)?, seeds, faults)?,
        };
        conduct(&place, &self.many.session(context)?)
    }
}
