//! Where scenarios are run.

use locklab_model::scenario::Scenario;
use locklab_runner::backend::{Backend, World};
use serde::Serialize;

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// The simulated world, any number of runs in virtual time.
    World,
    /// redis-servers of its own on this machine, in real time.
    Redis,
}

impl On {
    /// How many seeds a scenario is run with unless the user says otherwise.
    pub fn usual_seeds(self, scenario: &Scenario) -> u64 {
        match self {
            On::World => World.usual_seeds(scenario),
            // A run takes seconds.
            On::Redis => 1,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            On::World => "world",
            On::Redis => "redis",
        }
    }
}
