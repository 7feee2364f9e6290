//! What a search makes its runs of.

use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use serde::Serialize;

use super::{Chosen, Rehearsals, Strategy, Turn, mixed, steps, swarm};

/// The scenarios of a search, and how a seed becomes a run of one of them.
#[derive(Debug, Serialize)]
pub(crate) struct Source {
    /// A number that no other search of the same experiment has.
    number: usize,
    /// Of each turn.
    ways: Vec<(Turn, Scenario)>,
}

impl Source {
    /// The turns of a strategy, or the only one that there is, each with its scenario.
    pub(crate) fn new(number: usize, ways: Vec<(Turn, Scenario)>) -> Source {
        Source { number, ways }
    }

    /// A scenario with the lock and the hosts of all.
    pub(crate) fn scenario(&self) -> &Scenario {
        &self.ways[0].1
    }

    /// The scenario of which a seed is a run.
    pub(crate) fn scenario_of(&self, seed: u64) -> &Scenario {
        &self.ways[self.turn(seed)].1
    }

    /// The place in `ways` of the turn that makes the run of a seed.
    pub(crate) fn turn(&self, seed: u64) -> usize {
        match self.ways.len() {
            1 => 0,
            _ => mixed::turn(seed),
        }
    }

    /// The seed with which the run of a seed is simulated: everything but the faults is drawn from it.
    pub(crate) fn world_seed(&self, seed: u64) -> u64 {
        match self.ways[self.turn(seed)].0.strategy {
            Strategy::Steps => steps::world_seed(seed),
            _ => seed,
        }
    }

    /// The run of a seed.
    ///
    /// # Errors
    ///
    /// If the run without faults, from which it is chosen, has no result.
    pub(crate) fn choose(
        &self,
        seed: u64,
        rehearsals: &Rehearsals,
    ) -> Result<Chosen<'_>, RunError> {
        let number = self.turn(seed);
        let (turn, scenario) = &self.ways[number];
        Ok(match turn.strategy {
            Strategy::Swarm => Chosen::as_drawn(swarm::choose(scenario, seed), seed),
            Strategy::Steps => {
                let world_seed = self.world_seed(seed);
                let key = (self.number, number, world_seed);
                let rehearsal = rehearsals.get(key, scenario, &turn.kinds)?;
                Chosen {
                    drawn: steps::choose(&rehearsal, seed),
                    world_seed,
                    space: rehearsal.space(),
                }
            }
            // A mix consists of others.
            Strategy::Uniform | Strategy::Mixed => Chosen::as_drawn(scenario.drawn(seed), seed),
        })
    }
}
