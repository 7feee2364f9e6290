//! `locklab study campaign`: every lock under random faults.

use std::num::NonZeroU64;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::campaign::Campaign;
use crate::campaign::strategy::Strategy;
use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::seeds::Seeds;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, fault_parser};
use crate::problems::{self, lock_completer};
use locklab_history::FaultKind;
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab study campaign                        every lock, every fault
  locklab study campaign --lock redlock --seeds 1000
                                                one lock, violations shown
  locklab study campaign --fault pause --fault slow-link
                                                only these faults
  locklab study campaign --set campaign.duration_ms=300
                                                shorter ones
  locklab study campaign --lock redlock --strategy steps
                                                faults at steps of a run
  locklab study campaign --lock redlock --strategy mixed
                                                a search for mistakes
  locklab study campaign --seeds 1000 --quota 10
                                                situations met ten times

The scenario problems/campaign describes what the seeds draw; one run of it:
  locklab view problems/campaign --seed 7

Exit codes: 0 measured; 1 usage; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Locks, or single forms of one, by default all; `redlock ()` is the plain form
    /// alone
    #[arg(long = "lock", value_name = "LOCK", value_parser = problems::lock, add = lock_completer())]
    locks: Vec<String>,
    /// The kinds of fault to draw; by default those of processes, links and clocks, without
    /// what `locklab list faults` says of operators, disks and connections
    #[arg(long = "fault", value_name = "FAULT", hide_possible_values = true,
          value_parser = fault_parser())]
    faults: Vec<String>,
    /// Seeds of each lock: 0..N, or A..B, the end excluded
    #[arg(
        long,
        value_name = "N|A..B",
        default_value = "100",
        allow_hyphen_values = true
    )]
    seeds: Seeds,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// How the faults of a seed are chosen: uniform (as the scenario describes them), swarm (each
    /// seed leaves kinds out), steps (one to three faults at steps of a short run of two clients) or
    /// mixed (late messages, steps and swarm in turn)
    #[arg(long, value_name = "STRATEGY", default_value = "uniform", hide_possible_values = true,
          value_parser = strategy_parser())]
    strategy: String,
    /// How many runs of a lock have to meet a situation that a property needs; if fewer do, and none
    /// violates the property, it is inconclusive
    #[arg(long, value_name = "RUNS", default_value = "1", value_parser = whole::<NonZeroU64>(1..=1_000_000_000))]
    quota: NonZeroU64,
    #[command(flatten)]
    pub(crate) many: Many,
}

fn strategy_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let strategy = Strategy::of_name(&self.strategy).unwrap_or_default();
        let seeds = self.seeds.range();
        let faults = self
            .faults
            .iter()
            .filter_map(|name| FaultKind::of_name(name));
        let faults: Vec<FaultKind> = faults.collect();
        let sets = self.sets.clone();
        let quota = self.quota;
        let campaign = Campaign::plan(&self.locks, sets, &faults, seeds, strategy, quota)?;
        conduct(&campaign, &self.many.session(context)?)
    }
}
