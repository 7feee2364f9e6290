//! How a campaign chooses its runs: what a seed makes of a scenario.
//!
//! A strategy is a function of scenario and seed. Whatever it draws beyond the scenario comes from streams of
//! its own (`search/…`), and nothing is remembered from one seed to the next. So a seed is the same run on
//! any number of threads.

mod missed;
mod steps;
mod swarm;
#[cfg(test)]
mod tests;

use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use serde::Serialize;

pub(crate) use self::missed::missed;
pub(crate) use self::steps::Kinds;

/// How a seed becomes a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As the scenario describes it.
    #[default]
    Uniform,
    /// Each seed first draws which kinds of fault may occur, and how densely.
    Swarm,
    /// One to three faults at steps of a run without faults.
    Steps,
}

impl Strategy {
    /// All of them, in the order of tables.
    pub const ALL: [Strategy; 3] = [Strategy::Uniform, Strategy::Swarm, Strategy::Steps];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Uniform => "uniform",
            Strategy::Swarm => "swarm",
            Strategy::Steps => "steps",
        }
    }

    /// The strategy with this name.
    pub fn of_name(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The run that this seed makes of the scenario. `kinds` are those that are placed at steps; what a
    /// campaign draws is in the scenario.
    ///
    /// # Errors
    ///
    /// If the run without faults, from which it is chosen, has no result.
    pub(crate) fn choose<'s>(
        self,
        scenario: &'s Scenario,
        seed: u64,
        kinds: &Kinds,
    ) -> Result<Chosen<'s>, RunError> {
        match self {
            Strategy::Uniform => Ok(Chosen::as_drawn(scenario.drawn(seed))),
            Strategy::Swarm => Ok(swarm::choose(scenario, seed)),
            Strategy::Steps => steps::choose(scenario, seed, kinds),
        }
    }
}

/// A run as a strategy has chosen it.
#[derive(Debug, Clone)]
pub(crate) struct Chosen<'s> {
    /// The scenario, and its faults.
    pub(crate) drawn: Drawn<'s>,
    /// From how many steps and placements it was chosen; 0 if from none.
    pub(crate) space: Space,
    /// How many other runs it took to choose it.
    pub(crate) rehearsals: u64,
}

/// From what a run was chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Space {
    /// The steps of the run without faults.
    pub(crate) steps: u64,
    /// The faults that can be placed there: each kind on each target at each step.
    pub(crate) placements: u64,
}

impl<'s> Chosen<'s> {
    fn as_drawn(drawn: Drawn<'s>) -> Chosen<'s> {
        Chosen {
            drawn,
            space: Space::default(),
            rehearsals: 0,
        }
    }

    /// Makes the run. Nobody wrote what was drawn, so one that fills its history is no error.
    pub(crate) fn run(&self, seed: u64, keep: Keep) -> Result<JudgedRun, RunError> {
        let Drawn { scenario, schedule } = &self.drawn;
        judged::run_until_full(scenario, seed, schedule.clone(), keep)
    }
}
