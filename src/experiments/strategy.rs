//! How a campaign chooses its runs: what a seed makes of a scenario.
//!
//! A strategy is a function of scenario and seed. Whatever it draws beyond the scenario comes from streams of
//! its own (`search/…`), and nothing is remembered from one seed to the next. So a seed is the same run on
//! any number of threads.

mod hazard;
mod missed;
mod steps;
mod swarm;
#[cfg(test)]
mod tests;
mod weights;

use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use serde::Serialize;

pub(crate) use self::missed::missed;
pub(crate) use self::steps::{Kinds, choose as choose_steps};
pub(crate) use self::weights::Weights;

/// How a seed becomes a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As the scenario describes it.
    #[default]
    Uniform,
    /// Each seed first draws which kinds of fault may occur, and how densely.
    Swarm,
    /// Half of the seeds draw the times of all faults from those at which a client holds the lock.
    Hazard,
    /// One to three faults at steps of a run without faults.
    Steps,
}

impl Strategy {
    /// All of them, in the order of tables.
    pub const ALL: [Strategy; 4] = [
        Strategy::Uniform,
        Strategy::Swarm,
        Strategy::Hazard,
        Strategy::Steps,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Uniform => "uniform",
            Strategy::Swarm => "swarm",
            Strategy::Hazard => "hazard",
            Strategy::Steps => "steps",
        }
    }

    /// The strategy with this name.
    pub fn of_name(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Whether its runs have weights, so that its rates are those of [`Strategy::Uniform`].
    pub(crate) fn has_weights(self) -> bool {
        self == Strategy::Hazard
    }

    /// The largest weight of a run: a rate is at most so many times the share of the violating runs.
    pub(crate) fn heaviest(self) -> f64 {
        match self {
            Strategy::Hazard => hazard::HEAVIEST,
            Strategy::Uniform | Strategy::Swarm | Strategy::Steps => 1.0,
        }
    }

    /// The run that this seed makes of the scenario.
    ///
    /// # Errors
    ///
    /// If the run without faults, from which it is chosen, has no result.
    pub(crate) fn choose(self, scenario: &Scenario, seed: u64) -> Result<Chosen<'_>, RunError> {
        match self {
            Strategy::Uniform => Ok(Chosen::as_drawn(scenario.drawn(seed))),
            Strategy::Swarm => Ok(swarm::choose(scenario, seed)),
            Strategy::Hazard => hazard::choose(scenario, seed),
            Strategy::Steps => steps::choose(scenario, seed, Kinds::All),
        }
    }
}

/// A run as a strategy has chosen it.
#[derive(Debug, Clone)]
pub(crate) struct Chosen<'s> {
    /// The scenario, and its faults.
    pub(crate) drawn: Drawn<'s>,
    /// How much likelier the run is as the scenario describes it; 1 where the strategy draws something else.
    pub(crate) weight: f64,
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
            weight: 1.0,
            space: Space::default(),
            rehearsals: 0,
        }
    }

    /// Makes the run.
    pub(crate) fn run(&self, seed: u64, keep: Keep) -> Result<JudgedRun, RunError> {
        let Drawn { scenario, schedule } = &self.drawn;
        judged::run_schedule(scenario, seed, schedule.clone(), keep)
    }
}
