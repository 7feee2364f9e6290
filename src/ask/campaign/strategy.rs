//! How a campaign chooses its runs: what a seed makes of a scenario.
//!
//! A strategy is a function of scenario and seed. Whatever it draws beyond the scenario comes from streams of
//! its own (`search/…`). Nothing is remembered from one seed to the next but what would come out the same again
//! (`rehearsals.rs`). So a seed is the same run on any number of threads.
//!
//! `steps` draws from the kinds of `place`. Sixteen of its seeds share a world, and so the run without faults at whose
//! steps faults are placed: a run has a seed, from which its faults are drawn, and a `world_seed`, with which it is
//! simulated and recorded. A search has a `Source`: a scenario for each of its turns, of which only `mixed` has
//! several.

mod missed;
mod mixed;
mod rehearsals;
mod source;
mod steps;
mod swarm;
#[cfg(test)]
mod tests;
mod turn;
mod workload;

use locklab_model::scenario::Drawn;
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use serde::Serialize;

pub(crate) use self::missed::missed;
pub(crate) use self::rehearsals::Rehearsals;
pub(crate) use self::source::Source;
pub(crate) use self::steps::Kinds;
pub(crate) use self::turn::Turn;
pub(crate) use self::workload::Workload;

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
    /// Late messages, faults at steps and a swarm in turn.
    Mixed,
}

impl Strategy {
    /// All of them, in the order of tables.
    pub const ALL: [Strategy; 4] = [
        Strategy::Uniform,
        Strategy::Swarm,
        Strategy::Steps,
        Strategy::Mixed,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Uniform => "uniform",
            Strategy::Swarm => "swarm",
            Strategy::Steps => "steps",
            Strategy::Mixed => "mixed",
        }
    }

    /// The strategy with this name.
    pub fn of_name(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What a campaign with this strategy does, with these kinds of fault: in one way, or in several that take turns.
    pub(crate) fn turns(self, kinds: &Kinds) -> Vec<Turn> {
        match self {
            Strategy::Uniform | Strategy::Swarm => {
                vec![Turn::new(self, Workload::Campaign, kinds.clone())]
            }
            Strategy::Steps => vec![Turn::new(self, Workload::Once, kinds.clone())],
            Strategy::Mixed => mixed::turns(kinds),
        }
    }
}

/// A run as a strategy has chosen it.
#[derive(Debug, Clone)]
pub(crate) struct Chosen<'s> {
    /// The scenario, and its faults.
    pub(crate) drawn: Drawn<'s>,
    /// The seed with which it is simulated.
    pub(crate) world_seed: u64,
    /// From how many steps and placements it was chosen; 0 if from none.
    pub(crate) space: Space,
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
    fn as_drawn(drawn: Drawn<'s>, seed: u64) -> Chosen<'s> {
        Chosen {
            drawn,
            world_seed: seed,
            space: Space::default(),
        }
    }

    /// Makes the run. Nobody wrote what was drawn, so one that fills its history is no error.
    pub(crate) fn run(&self, keep: Keep) -> Result<JudgedRun, RunError> {
        let Drawn { scenario, schedule } = &self.drawn;
        judged::run_until_full(scenario, self.world_seed, schedule.clone(), keep)
    }
}
