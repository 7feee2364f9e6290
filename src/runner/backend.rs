//! Backends for runs: the simulator, or real servers.

use std::error::Error;

use super::run::Run;
use super::simulate::{Keep, simulate};
use locklab_history::Schedule;
use locklab_model::scenario::Scenario;
use locklab_results::recording::Environment;

/// A backend that runs scenarios.
pub trait Backend {
    /// The environment that its recordings name.
    fn environment(&self) -> Environment;

    /// The default number of seeds for a scenario.
    fn usual_seeds(&self, scenario: &Scenario) -> u64;

    /// Runs `scenario` with this seed and schedule.
    ///
    /// # Errors
    ///
    /// If this backend does not support the scenario, or if the run fails.
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        schedule: &Schedule,
        keep: Keep,
    ) -> Result<Run, Box<dyn Error + Send + Sync>>;
}

/// The simulator: a run is a function of scenario, seed and schedule.
pub struct World;

impl Backend for World {
    fn environment(&self) -> Environment {
        Environment::World
    }

    fn usual_seeds(&self, scenario: &Scenario) -> u64 {
        scenario.usual_seeds()
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        schedule: &Schedule,
        keep: Keep,
    ) -> Result<Run, Box<dyn Error + Send + Sync>> {
        Ok(simulate(scenario, seed, schedule, keep)?)
    }
}
