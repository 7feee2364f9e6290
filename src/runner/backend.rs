//! Backends for runs: the simulated world, or real servers.

use std::error::Error;

use locklab_world::TraceEvent;

use super::simulate::{Keep, simulate};
use crate::history::{Contents, History, Schedule};
use crate::recording::Environment;
use crate::scenario::Scenario;

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

/// A finished run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// What happened.
    pub history: History,
    /// The hash of every event of the world, in order; 0 on real servers, where no two runs are
    /// equal.
    pub trace_hash: u64,
    /// These events, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// What it was made of, if that was kept.
    pub contents: Option<Contents>,
    /// The longest time for which the machine stood still during a real run, in nanoseconds.
    pub stall_ns: u64,
    /// The version of the servers if they are real: `7.0.15`.
    pub server_version: Option<String>,
}

/// The simulated world: a run is a function of scenario, seed and schedule.
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
