//! `locklab confirm`: scenarios in the simulator and on real Redis, side by side.

use clap::Args;

use crate::confirm::{self, Confirm};
use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::server::Server;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, scenario_completer};
use locklab_lab::{Exit, conduct};
use locklab_model::scenario::Scale;
use locklab_real::comparison::{Runs, WITHIN};

const EXAMPLES: &str = "\
Examples:
  locklab confirm                           all that real Redis can run
  locklab confirm kleppmann/k1 redis-docs/r4
  locklab confirm --runs 60 --max-runs 400 --within 7
                                            with narrower bounds
  locklab confirm --scale 0.2 --at-once 6   all durations divided by five
  locklab confirm --server /opt/valkey/bin/valkey-server

Each scenario runs in the simulator and on real Redis. Two rates are equivalent
if the 95 % interval of their difference lies within the bound (two one-sided
tests). They differ if the interval lies outside of it, at the level at which
the intervals of all rates hold together with 95 %. Otherwise it is unclear,
and the number of runs that would decide is printed. Runs of one seed share
their faults and are compared in pairs, where the outcome follows from the
faults. The first look at --runs runs ends it where all is equivalent; the rest
is looked at once more after --max-runs, and only then it differs. (For a
scenario that violates something in 5 to 95 % of its simulated runs, the first
look is at half of --max-runs.) A --max-runs with which no rates could differ
is refused. Durations, such as the time to a grant or a failover, are compared
as well. A run in which the machine stalled, or a process began late, by more
than 50 ms is discarded.

--scale scales all durations, in the simulator too. It skips scenarios whose
rates would change: because Redis's own periods do not scale, or because of
this machine's jitter, which is measured at the start.

Results are saved as they are made. After Ctrl-C, run the same command again to
resume.

Exit codes: 0 equivalent, or no bound is asked for; 1 usage; 2 rates or
durations differ; 3 unclear, or a run failed; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Scenarios: names of shipped ones, or files; by default all that ship
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenarios: Vec<String>,
    /// Runs of each scenario on real Redis
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(1..=10_000))]
    runs: u64,
    /// Runs of a scenario that the first ones leave open
    #[arg(long, alias = "most", value_name = "N", default_value_t = 120,
          value_parser = whole::<u64>(1..=10_000))]
    max_runs: u64,
    /// How far apart equivalent rates may be, in percentage points
    #[arg(long, value_name = "POINTS", default_value_t = (100.0 * WITHIN) as u8,
          value_parser = whole::<u8>(1..=99))]
    within: u8,
    /// Override a value of every scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// Multiply all durations of every scenario by this; above 0, at most 1
    #[arg(long, value_name = "FACTOR", default_value_t = Scale::FULL)]
    scale: Scale,
    /// Runs on real Redis at the same time; by default twelve for each core, since most of a
    /// run is waiting
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=64))]
    at_once: Option<u16>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let at_once = self.at_once.map(usize::from);
        let confirm = Confirm::plan(confirm::Options {
            scenarios: self.scenarios.clone(),
            sets: self.sets.clone(),
            runs: Runs {
                least: self.runs,
                most: self.max_runs.max(self.runs),
            },
            within: f64::from(self.within) / 100.0,
            scale: self.scale,
            at_once: at_once.unwrap_or(12 * self.many.basics.jobs.threads()),
            programs: self.server.programs()?,
        })?;
        conduct(&confirm, &self.many.session(context)?)
    }
}
