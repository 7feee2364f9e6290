//! `locklab study sweep`: a scenario over a grid of parameters.

use clap::Args;

use crate::options::many::Many;
use crate::options::seeds::Seeds;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, PerRun, property_parser, scenario_completer};
use crate::sweep;
use locklab_check::Property;
use locklab_lab::{Exit, conduct};
use locklab_report::chart::RateAxis;
use locklab_results::Seeding;

const EXAMPLES: &str = "\
Examples:
  locklab study sweep kleppmann/k1
  locklab study sweep kleppmann/k1 --vary fault.gc.duration_ms=0..3000/30
               --seeds 500
  locklab study sweep kleppmann/k1 --set 'fault.gc.duration_ms={exponential=1}'
               --vary fault.gc.duration_ms.exponential=250..5000/19
  locklab study sweep redis-docs/r5 --vary lock.release=del,get-del,compare-del

A sweep writes each cell as soon as it is finished. After Ctrl-C, run the same
command again to resume it.

Exit codes: 0 the sweep is complete, whatever it found; 1 usage; 70 a bug in
Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The scenario: the name of a shipped one, or a file
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenario: String,
    /// Vary a value: path=v1,v2,… or path=from..to/steps; several form a grid
    #[arg(long, value_name = "PATH=VALUES")]
    vary: Vec<String>,
    /// Seeds of each cell: 0..N, or A..B, the end excluded; by default what the scenario says
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Give every cell its own seeds, so that errors are independent; by default all use the
    /// same seeds (common random numbers), which is best for comparing them
    #[arg(long, conflicts_with = "budget")]
    independent_seeds: bool,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// Properties to chart; by default what the scenario is about: lease and resource, or
    /// else its headline
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', hide_possible_values = true,
          value_parser = property_parser())]
    property: Vec<Property>,
    /// Let the rate axis end just above the data instead of at 100 %
    #[arg(long)]
    fit: bool,
    #[command(flatten)]
    per_run: PerRun,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let sweep = sweep::Sweep::plan(sweep::Options {
            scenario: self.scenario.clone(),
            vary: self.vary.clone(),
            seeds: self.seeds.as_ref().map(Seeds::range),
            seeding: match self.independent_seeds {
                true => Seeding::Independent,
                false => Seeding::Common,
            },
            sets: self.sets.clone(),
            properties: self.property.clone(),
            rate_axis: match self.fit {
                true => RateAxis::Fitted,
                false => RateAxis::Full,
            },
            detail: self.per_run.detail(),
        })?;
        conduct(&sweep, &self.many.session(context)?)
    }
}
