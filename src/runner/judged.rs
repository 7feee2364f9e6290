//! One run, judged, with all that is needed to do it again.

use std::collections::BTreeMap;

use locklab_sim::world::TraceEvent;

use super::RunError;
use super::simulate::{Keep, simulate};
use crate::check::{Bounds, Property, Verdict, judge};
use crate::fault::{Schedule, expand};
use crate::history::History;
use crate::history::file::{Environment, Footer, Header, Recording, VERSION};
use crate::scenario::Scenario;

/// A run and its verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// The faults that were drawn for it.
    pub schedule: Schedule,
    /// What happened.
    pub history: History,
    /// How it was judged.
    pub verdicts: BTreeMap<Property, Verdict>,
    /// The hash of every event of the world; 0 on real Redis, where no two runs agree.
    pub trace_hash: u64,
    /// The events of the world, if they were kept.
    pub trace: Vec<TraceEvent>,
}

/// Runs `scenario` with `seed` in the world, and judges it.
///
/// # Errors
///
/// As of [`simulate`].
pub fn run(scenario: &Scenario, seed: u64, keep: Keep) -> Result<JudgedRun, RunError> {
    run_schedule(scenario, seed, expand(&scenario.fault, seed), keep)
}

/// Runs `scenario` with `seed` and the faults of `schedule` in the world.
///
/// # Errors
///
/// As of [`simulate`].
pub fn run_schedule(
    scenario: &Scenario,
    seed: u64,
    schedule: Schedule,
    keep: Keep,
) -> Result<JudgedRun, RunError> {
    let run = simulate(scenario, seed, &schedule, keep)?;
    Ok(JudgedRun {
        verdicts: judge(&run.history, &bounds(scenario)),
        schedule,
        history: run.history,
        trace_hash: run.trace_hash,
        trace: run.trace,
    })
}

/// Runs `scenario` with `seed` in the world and writes everything down that a picture
/// needs.
///
/// # Errors
///
/// As of [`simulate`].
pub fn record(scenario: &Scenario, seed: u64) -> Result<Recording, RunError> {
    let run = run(scenario, seed, Keep::MESSAGES)?;
    Ok(recording(scenario, seed, run, Environment::World))
}

/// The run as a recording.
pub fn recording(
    scenario: &Scenario,
    seed: u64,
    run: JudgedRun,
    environment: Environment,
) -> Recording {
    let scenario = serde_json::to_value(Named {
        name: &scenario.name,
        scenario,
    })
    .expect("a scenario has no value that JSON cannot say");
    let header = Header {
        locklab: VERSION.into(),
        scenario,
        seed,
        schedule: run.schedule,
        environment,
    };
    Recording {
        header,
        history: run.history,
        footer: Footer {
            trace_hash: format!("{:016x}", run.trace_hash),
            verdicts: run.verdicts,
        },
    }
}

/// A scenario with its name, which its file does not say.
#[derive(serde::Serialize)]
struct Named<'a> {
    name: &'a str,
    #[serde(flatten)]
    scenario: &'a Scenario,
}

/// What the checks must be told about `scenario`.
pub fn bounds(scenario: &Scenario) -> Bounds {
    let bound_ms = scenario
        .bound_ms
        .unwrap_or_else(|| scenario.lock.bound_ms(&scenario.topology));
    Bounds {
        deadlock_ns: bound_ms * 1_000_000,
        nodes: scenario.topology.nodes * (1 + scenario.topology.replicas),
    }
}
