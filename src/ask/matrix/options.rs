//! `locklab study matrix`: every lock against every problem.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::matrix::Matrix;
use crate::options::many::Many;
use crate::options::seeds::Seeds;
use crate::options::server::Server;
use crate::options::{Ask, Context};
use crate::problems::{self, Plan, lock_completer};
use crate::run::options::On;
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab study matrix
  locklab study matrix --lock set-nx-px --lock redlock --seeds 1000
  locklab study matrix --lock redisson --problem outlives
                                    cells, each with a run
  locklab study matrix --lock redlock --lock consensus --on redis --seeds 5
                                    on real servers, some seconds a run

A lock's name selects all its forms; a form is named as in the table:
  locklab study matrix --lock 'set-nx-px (release del)'

Exit codes: 0 every cell as predicted; 2 a cell differs; 3 a cell is
inconclusive; 1 usage; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Locks, or single forms of one, by default all; `redlock ()` is the plain form
    /// alone
    #[arg(long = "lock", value_name = "LOCK", value_parser = problems::lock, add = lock_completer())]
    locks: Vec<String>,
    /// Problems; by default all
    #[arg(long = "problem", value_name = "PROBLEM", hide_possible_values = true,
          value_parser = problem_parser())]
    problems: Vec<String>,
    /// Seeds of each cell: 0..N, or A..B, the end excluded; by default 200 in the simulator, and 5 on real servers
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Where to run
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = On::World)]
    on: On,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    pub(crate) many: Many,
}

fn problem_parser() -> PossibleValuesParser {
    let problems = Plan::shipped().problems.into_iter();
    PossibleValuesParser::new(problems.map(|problem| problem.name))
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let seeds = self.seeds.as_ref().map(Seeds::range);
        let seeds = seeds.unwrap_or_else(|| self.on.seeds(200, 5));
        let mut matrix = Matrix::plan(&self.locks, &self.problems, seeds)?;
        if let Some(programs) = self.on.programs(&self.server)? {
            matrix = matrix.on_real(programs)?;
        }
        conduct(&matrix, &self.many.session(context)?)
    }
}
