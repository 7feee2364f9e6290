//! A scenario whose steps are struck: its runs without faults, and the classes of placements in them.

use std::time::{Duration, Instant};

use locklab_history::Schedule;
use locklab_model::fault::FaultSpec;
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_runner::steps::{SeenStep, StepLog};

use super::classes::{Class, Setting, classes, schedule};
use super::outcome::Outcome;

/// One run without faults, and the placements in it.
pub(crate) struct Baseline {
    /// Its seed.
    pub(crate) seed: u64,
    /// The scenario as this seed draws it, without its faults.
    pub(crate) scenario: Scenario,
    /// What placements need to know of it.
    pub(crate) setting: Setting,
    /// Its steps.
    pub(crate) log: StepLog,
    /// The classes of placements of one fault.
    pub(crate) singles: Vec<Class>,
    /// What comes of it without any fault.
    pub(crate) outcome: Outcome,
    /// How long the run took to make.
    pub(crate) took: Duration,
}

impl Baseline {
    /// Makes the run.
    pub(crate) fn of(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let scenario = without_faults(scenario, seed);
        let setting = Setting::of(&scenario);
        let run = |keep| judged::run_schedule(&scenario, seed, Schedule::default(), keep);
        // The first run of a thread also sets up what later ones find.
        run(Keep::STEPS)?;
        let began = Instant::now();
        let run = run(Keep::STEPS)?;
        let took = began.elapsed();
        let outcome = Outcome::of(&run);
        let log = run.steps.unwrap_or_default();
        Ok(Self {
            seed,
            singles: classes(&log, &setting, |_, _, _| true),
            scenario,
            setting,
            log,
            outcome,
            took,
        })
    }

    /// How many placements its classes stand for.
    pub(crate) fn placements(&self) -> u64 {
        self.singles
            .iter()
            .map(|class| class.steps.len() as u64)
            .sum()
    }

    /// The run with the fault of one class.
    pub(crate) fn single(&self, class: &Class, keep: Keep) -> Result<JudgedRun, RunError> {
        let fault = class.fault(&self.log.steps, &self.setting);
        let schedule = schedule([fault]);
        judged::run_schedule(&self.scenario, self.seed, schedule, keep)
    }

    /// The step at which the fault of a class is run.
    pub(crate) fn step(&self, class: &Class) -> &SeenStep {
        &self.log.steps[class.run_at()]
    }
}

/// The scenario as the seed draws it, without its faults and what is predicted of them.
pub(crate) fn without_faults(scenario: &Scenario, seed: u64) -> Scenario {
    let mut drawn = scenario.drawn(seed).scenario.into_owned();
    drawn.fault.clear();
    drawn.expect.clear();
    drawn.on_redis = None;
    drawn.sweep = None;
    drawn
}

/// A fault as an override of a scenario, which replaces all its faults: `fault={placed={…}}`.
pub(crate) fn as_override(faults: &Schedule) -> String {
    let faults = faults.faults.iter();
    let faults = faults.map(|fault| {
        let table = toml::Value::try_from(FaultSpec::from(fault));
        let table = table.map_or_else(|_| "{}".to_owned(), |table| table.to_string());
        format!("{} = {table}", fault.name)
    });
    let faults: Vec<String> = faults.collect();
    format!("fault={{ {} }}", faults.join(", "))
}
