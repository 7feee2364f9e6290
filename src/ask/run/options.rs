//! `locklab run`: scenarios with some seeds, judged.

use std::ops::Range;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use locklab_real::Programs;

use crate::options::many::Many;
use crate::options::seeds::{self, Seeds};
use crate::options::server::Server;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, PerRun, scenario_completer};
use crate::run::twice::Twice;
use crate::run::{self, Run};
use locklab_lab::output::status;
use locklab_lab::scenarios::Scenarios;
use locklab_lab::{Exit, conduct};
use locklab_model::scenario::Scenario;

const EXAMPLES: &str = "\
Examples:
  locklab run kleppmann/k1
  locklab run kleppmann/k1 my/own.toml --seeds 0..1000
  locklab run redis-docs/r5 --set lock.release=compare-del
  locklab run kleppmann/k1 --on redis
  locklab run --all --twice --seeds 0..20";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Scenarios: names of shipped ones, or files
    #[arg(value_name = "SCENARIO", required_unless_present = "all", add = scenario_completer())]
    scenarios: Vec<String>,
    /// Run every shipped scenario
    #[arg(long, conflicts_with = "scenarios")]
    all: bool,
    /// Run with this seed only
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = seeds::one)]
    seed: Option<u64>,
    /// Run with the seeds 0..N, or A..B, the end excluded; by default as many as the
    /// scenario's predictions need, at least 100, in the simulator, and 1 on real Redis
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// Where to run
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    #[command(flatten)]
    server: Server,
    /// Run everything twice and compare every event
    #[arg(long)]
    twice: bool,
    #[command(flatten)]
    per_run: PerRun,
    #[command(flatten)]
    pub(crate) many: Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// Any number of runs in virtual time
    #[value(name = "simulator", alias = "world")]
    World,
    /// Servers that Locklab starts on this machine, in real time: Redis; ZooKeeper for `consensus`;
    /// PostgreSQL for locks on a database
    #[value(aliases = ["real", "zookeeper", "postgres"])]
    Redis,
}

impl From<On> for run::On {
    fn from(on: On) -> Self {
        match on {
            On::World => run::On::World,
            On::Redis => run::On::Redis,
        }
    }
}

impl On {
    /// The seeds that are run unless others are named: so many in the simulator, so many on real servers.
    pub(crate) fn seeds(self, simulated: u64, real: u64) -> Range<u64> {
        match self {
            On::World => 0..simulated,
            On::Redis => 0..real,
        }
    }

    /// The programs of real runs.
    ///
    /// # Errors
    ///
    /// If a server is named for simulated ones.
    pub(crate) fn programs(self, server: &Server) -> anyhow::Result<Option<Programs>> {
        ensure!(
            self == On::Redis || !server.is_named(),
            "--server names the server of real runs; add --on redis"
        );
        Ok({ self == On::Redis }
            .then(|| server.programs())
            .transpose()?)
    }
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let on = run::On::from(self.on);
        let names = match self.all {
            true => Scenarios::shipped(),
            false => self.scenarios.clone(),
        };
        let seeds = |scenario: &Scenario| match (self.seed, &self.seeds) {
            (Some(seed), _) => seed..seed + 1,
            (None, Some(seeds)) => seeds.range(),
            (None, None) => 0..on.usual_seeds(scenario),
        };
        let mut scenarios = Scenarios::load(&names, &self.sets, seeds)?;
        let real = self.on.programs(&self.server)?;
        if let (true, Some(programs)) = (self.all, &real) {
            for (name, why) in scenarios.leave_out(|it| locklab_real::why_left_out(programs, it)) {
                status!("skipped: {name}: {why}");
            }
        }
        let session = self.many.session(context)?;
        if self.twice {
            ensure!(
                self.on == On::World,
                "--twice compares runs in the simulator; no two runs on real Redis are alike"
            );
            return conduct(&Twice { scenarios }, &session);
        }
        let run = Run::plan(scenarios, real, self.per_run.detail())?;
        conduct(&run, &session)
    }
}
