//! A scenario's runs in the simulator, as a comparison with real ones needs them.

use std::collections::BTreeMap;

use locklab_model::scenario::{Drawn, Scenario};
use locklab_results::{Cell, Sketch};
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_values::units::ns_from_ms;
use serde::{Deserialize, Serialize};

use super::jitter::Jitter;

/// How many twins tell whether the outcome of a run follows from its faults.
pub const TWINS: u64 = 100;

/// What is added to the seed of a twin, which shares the faults of a run and nothing else.
const OTHER_SEED: u64 = 1 << 32;

/// A scenario in the simulator, as far as a comparison with real runs needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Simulation {
    /// As the scenario says.
    pub prompt: Simulated,
    /// With the same faults and everything else drawn anew, and late by the jitter.
    pub twins: Simulated,
}

/// Simulated runs, and what a comparison keeps of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The counts.
    pub cell: Cell,
    /// The runs, by their seeds.
    pub runs: BTreeMap<u64, Sketch>,
}

impl Part for Simulated {
    fn join(&mut self, other: Self) {
        self.cell.merge(other.cell);
        self.runs.extend(other.runs);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let kept = self.runs.len() as u64;
        let differ = (kept != runs).then(|| format!("it keeps {kept} runs of {runs}"));
        differ.or_else(|| self.cell.why_not(runs))
    }
}

impl Simulated {
    /// Adds the run with this seed.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub fn add(&mut self, scenario: &Scenario, seed: u64) -> Result<(), RunError> {
        let run = judged::run(scenario, seed, Keep::default())?;
        self.take(scenario, seed, &run);
        Ok(())
    }

    /// Adds the run with this seed, late by this jitter.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub fn add_late(
        &mut self,
        scenario: &Scenario,
        seed: u64,
        jitter: Jitter,
    ) -> Result<(), RunError> {
        self.add_drawn(jitter.drawn(scenario, seed), seed, seed)
    }

    /// Adds a run with the faults of this seed in which all else is drawn anew, late by this jitter.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub fn add_twin(
        &mut self,
        scenario: &Scenario,
        seed: u64,
        jitter: Jitter,
    ) -> Result<(), RunError> {
        self.add_drawn(
            jitter.drawn(scenario, seed),
            seed,
            seed.wrapping_add(OTHER_SEED),
        )
    }

    fn add_drawn(&mut self, drawn: Drawn<'_>, seed: u64, own: u64) -> Result<(), RunError> {
        let Drawn { scenario, schedule } = drawn;
        let run = judged::run_schedule(&scenario, own, schedule, Keep::default())?;
        self.take(&scenario, seed, &run);
        Ok(())
    }

    fn take(&mut self, scenario: &Scenario, seed: u64, run: &JudgedRun) {
        self.cell.add(seed, &run.judged());
        let horizon_ns = ns_from_ms(scenario.horizon_ms);
        self.runs
            .insert(seed, Sketch::of(&run.judged(), horizon_ns));
    }
}
