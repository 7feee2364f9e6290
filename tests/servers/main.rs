//! Runs on real servers that are not Redis.
#![cfg(target_os = "linux")]

mod postgres;
mod zookeeper;

use std::collections::BTreeMap;
use std::fmt::Display;

use locklab_check::{Property, Verdict};
use locklab_history::{Event, History, Phase};
use locklab_model::scenario::Scenario;
use locklab_real::series::run_undisturbed;
use locklab_real::{Programs, RealRedis};
use locklab_runner::judged::JudgedRun;
use locklab_runner::simulate::Keep;

/// A run on servers of this product and version; `None`, with the reason, where there are none.
fn run(
    scenario: &Scenario,
    seed: u64,
    server: &str,
    why_not: Option<impl Display>,
) -> Option<JudgedRun> {
    if let Some(why) = why_not {
        eprintln!("SKIPPED: {why}");
        return None;
    }
    let programs = Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        ..Programs::find().expect("this program has a path")
    };
    let drawn = scenario.drawn(seed);
    let real = RealRedis::new(programs);
    let run = run_undisturbed(
        &real,
        &drawn.scenario,
        seed,
        &drawn.schedule,
        Keep::MESSAGES,
    );
    let run = JudgedRun::of(run.expect("it ends"), drawn.schedule, &drawn.scenario);
    let version = run.server_version.as_deref().unwrap_or_default();
    assert!(version.starts_with(server), "{version}");
    Some(run)
}

fn is_violated(run: &JudgedRun, property: Property) -> bool {
    matches!(run.verdicts.get(&property), Some(Verdict::Violated(_)))
}

/// How often each fault began and ended, on any host.
fn phases(history: &History) -> BTreeMap<String, [usize; 2]> {
    let mut phases: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for record in &history.records {
        let Event::Fault { fault, phase, .. } = &record.event else {
            continue;
        };
        let counts = phases.entry(fault.to_string()).or_default();
        match phase {
            Phase::Begins => counts[0] += 1,
            Phase::Ends => counts[1] += 1,
            _ => {}
        }
    }
    phases
}
