//! `locklab study rare`: how likely a violation is that is too rare to count.

use crate::rare::Rare;
use crate::rare::estimators::Method;
use clap::{Args, ValueEnum};
use locklab_check::Property;
use locklab_lab::{Exit, conduct};
use locklab_model::scenario;

use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, property_parser, scenario_completer, seeds};

const EXAMPLES: &str = "\
Examples:
  locklab study rare kleppmann/k1-exponential
               --set fault.gc.duration_ms.exponential=100
  locklab study rare kleppmann/k4-loss --set fault.loss.probability=0.05
  locklab study rare kleppmann/k10 --by plain --json
  locklab study rare kleppmann/k4-loss --set fault.loss.probability=0.05
               --budget 10m

Sampling draws long faults far more often than the scenario does, and weighs
each run by how much likelier it is in the scenario. It needs a fault whose
duration_ms or extra_ms is random. Splitting repeats runs in which a client has
held the lock for long, and draws anew what had not happened by then; it helps
where many faults add up. Plain counts. By default, it is sampling if a fault
may last far longer than usual, and otherwise splitting.

All three estimate the same rate: violated runs over all runs, with its 95 %
interval. Where too few runs decided the rate there is no interval. The same
seed gives the same result: on any number of threads, in shards, and resumed
after an interruption. With --budget more runs follow as long as there is time;
this does not bias the rate (docs/rare.md says why).

Exit codes: 0 a rate with its interval; 1 usage; 3 inconclusive or not finished;
70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The scenario: the name of a shipped one, or a file
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenario: String,
    /// The property; by default the one that the scenario is about
    #[arg(long, value_name = "PROPERTY", value_parser = property_parser())]
    property: Option<Property>,
    /// How the rate is estimated; by default sampling or splitting, see below
    #[arg(long, value_enum, value_name = "METHOD")]
    by: Option<By>,
    /// Runs; the copies of splitting come on top
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole::<u64>(100..=1_000_000_000))]
    runs: u64,
    /// The seed from which the seeds of all runs are drawn
    #[arg(long, value_name = "N", value_parser = seeds::one, default_value = "0")]
    seed: u64,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    #[command(flatten)]
    pub(crate) many: Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Long faults, weighed
    Sampling,
    /// Copies of runs that come near
    Splitting,
    /// Runs of the scenario, counted
    Plain,
}

impl By {
    fn method(self) -> Method {
        match self {
            By::Sampling => Method::Sampling,
            By::Splitting => Method::Splitting,
            By::Plain => Method::Plain,
        }
    }
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let session = self.many.session(context)?;
        let scenario = scenario::load(&self.scenario, &self.sets)?;
        let property = self.property.unwrap_or_else(|| scenario.headline());
        let method = match self.by {
            Some(by) => by.method(),
            None => Method::usual(&scenario),
        };
        let rare = Rare::plan(scenario, property, method, self.runs, self.seed)?;
        conduct(&rare, &session)
    }
}
