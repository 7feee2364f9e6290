//! `locklab study museum`: the bugs of lock libraries that were reported.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::museum::Museum;
use crate::options::many::Many;
use crate::options::{Ask, Context};
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab study museum
  locklab study museum unconditional-release
  locklab study museum --out reports

Each exhibit is a mechanism that was reported as a bug of a library, and a lock
of the catalogue that has it. Faults are placed at every step of a run of two
clients, or a shipped scenario is run. Each run that violates the property is
repeated with the mended lock, under the same fault. A run that shows the
mechanism is shrunk, as by locklab shrink, while the mended lock goes on
holding. The result is a table of mechanisms, one of their smallest scenarios
(EXHIBIT.toml, each with its picture, and with that of the mended lock), and
one of bugs with the threads that report them.

Exit codes: 0 each exhibit is shown: a run violates its property, and the same
run of the mended lock does not; 1 usage; 2 one is not shown; 3 not finished;
70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Only these exhibits
    #[arg(value_name = "EXHIBIT", value_parser = PossibleValuesParser::new(Museum::names()), hide_possible_values = true)]
    exhibits: Vec<String>,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let session = self.many.session(context)?;
        conduct(&Museum::plan(&self.exhibits)?, &session)
    }
}
