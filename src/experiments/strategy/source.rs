//! What a search makes its runs of.

use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use serde::Serialize;

use super::{Chosen, Kinds, Rehearsals, Strategy, steps, swarm};

/// A scenario, and how a seed becomes a run of it.
#[derive(Debug, Serialize)]
pub(crate) struct Source {
    /// A number that no other search of the same experiment has.
    number: usize,
    strategy: Strategy,
    /// Those that are placed at steps; what a campaign draws is in the scenario.
    kinds: Kinds,
    /// The scenario.
    pub(crate) scenario: Scenario,
}

impl Source {
    /// A scenario of which a strategy makes runs.
    pub(crate) fn new(
        number: usize,
        strategy: Strategy,
        kinds: Kinds,
        scenario: Scenario,
    ) -> Source {
        Source {
            number,
            strategy,
            kinds,
            scenario,
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
        let scenario = &self.scenario;
        Ok(match self.strategy {
            Strategy::Uniform => Chosen::as_drawn(scenario.drawn(seed), seed),
            Strategy::Swarm => Chosen::as_drawn(swarm::choose(scenario, seed), seed),
            Strategy::Steps => {
                let world_seed = self.strategy.world_seed(seed);
                let key = (self.number, world_seed);
                let (rehearsal, made) = rehearsals.get(key, scenario, &self.kinds)?;
                Chosen {
                    drawn: steps::choose(&rehearsal, seed),
                    world_seed,
                    space: rehearsal.space(),
                    rehearsals: made,
                }
            }
        })
    }
}
