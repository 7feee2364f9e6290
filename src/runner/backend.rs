//! Where runs take place: in the world, or on real servers.

use std::error::Error;

use locklab_world::TraceEvent;

use super::simulate::{Keep, simulate};
use crate::history::{History, Schedule};
use crate::recording::Environment;
use crate::scenario::Scenario;

/// What runs scenarios.
pub trait Backend {
    /// What its recordings say of where they were taken.
    fn environment(&self) -> Environment;

    /// With how many seeds a scenario is run unless somebody says otherwise.
    fn usual_seeds(&self, scenario: &Scenario) -> u64;

    /// Runs `scenario` with this seed and schedule.
    ///
    /// # Errors
    ///
    /// When this backend cannot show the scenario, or the run fails.
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
    /// The hash of every event of the world, in order; 0 on real servers, where no two runs
    /// agree.
    pub trace_hash: u64,
    /// These events, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// What a reader should know of this run beside its history, in sentences.
    pub notes: Vec<String>,
    /// The version of the servers, if they were real ones: `7.0.15`.
    pub server_version: Option<String>,
}

/// The simulated world: runs are functions of scenario, seed and schedule.
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
