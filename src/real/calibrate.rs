//! Compares the model's constants with measurements: `locklab measure constants`.
//!
//! If a scenario's rates agree in the simulator and on real Redis, the times behind them may still
//! differ. So they are measured: the periodic actions of servers, the steps of a failover, the data
//! that a power failure takes from a file, and TCP's retransmissions. The first three are taken in
//! the same way from histories of the simulator and of real runs. TCP's times are those of the
//! kernel, compared with [`locklab_values::tcp`], since in real runs the proxy applies that model.

mod kernel;
mod observe;
mod times;

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use locklab_values::tcp::Phase;
use locklab_values::units::fractional_ms_from_ns;

use super::series::{LONGEST_STALL_NS, attempt};
use locklab_history::History;
use locklab_model::scenario::{Drawn, Scenario, parse};
use locklab_runner::backend::{Backend, World};
use locklab_runner::pool::lock;
use locklab_runner::simulate::Keep;

pub use times::Times;

/// The scenarios that are run, each with what is observed of it.
const SCENARIOS: [(&str, &str, &[observe::Observed]); 2] = [
    (
        "calibrate/sentinels",
        include_str!("calibrate/sentinels.toml"),
        observe::OF_SENTINELS,
    ),
    (
        "calibrate/disk",
        include_str!("calibrate/disk.toml"),
        observe::OF_A_DISK,
    ),
];

/// A duration, in the model and for real.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The name of the constant, such as `Sentinel: +odown`.
    pub name: String,
    /// From when to when.
    pub meaning: String,
    /// In the model.
    pub model: Times,
    /// For real.
    pub real: Times,
}

/// The number of measurements.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Runs of each scenario in the simulator.
    pub world_runs: u64,
    /// Runs of each scenario on real Redis.
    pub real_runs: u64,
    /// How many of the latter at the same time.
    pub at_once: usize,
}

impl Effort {
    /// All runs on real Redis.
    pub fn all_real_runs(&self) -> u64 {
        SCENARIOS.len() as u64 * self.real_runs
    }
}

/// The reason why a measurement failed.
type Failure = Box<dyn Error + Send + Sync>;

/// Measures all constants; calls `ran` after each run on real Redis, of which there are
/// [`Effort::all_real_runs`].
///
/// # Errors
///
/// If a run fails, or the kernel cannot be measured.
pub fn measure(
    real: &(dyn Backend + Sync),
    effort: Effort,
    stop: &AtomicBool,
    ran: &(dyn Fn() + Sync),
) -> Result<Vec<Constant>, Failure> {
    let tcp = thread::spawn(move || tcp(effort.real_runs));
    let mut constants = Vec::new();
    for (name, text, observed) in SCENARIOS {
        let scenario = parse(&format!("scenarios/{name}.toml"), text, &[])?;
        let in_world = runs(&World, &scenario, effort.world_runs, 1, stop, &|| ())?;
        let Effort {
            real_runs, at_once, ..
        } = effort;
        let for_real = runs(real, &scenario, real_runs, at_once, stop, ran)?;
        for (name, meaning, observe) in observed {
            let times =
                |histories: &[History]| Times::of(histories.iter().flat_map(observe).collect());
            constants.push(Constant {
                name: (*name).into(),
                meaning: (*meaning).into(),
                model: times(&in_world),
                real: times(&for_real),
            });
        }
    }
    let tcp = tcp
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    constants.extend(tcp);
    Ok(constants)
}

/// The histories of this many runs, with the seeds from 0 on.
fn runs(
    backend: &(dyn Backend + Sync),
    scenario: &Scenario,
    number: u64,
    at_once: usize,
    stop: &AtomicBool,
    ran: &(dyn Fn() + Sync),
) -> Result<Vec<History>, Failure> {
    let next = AtomicU64::new(0);
    let outcome = Mutex::new(Ok(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= number || stop.load(Ordering::Relaxed) || lock(&outcome).is_err() {
                        return;
                    }
                    let Drawn { scenario, schedule } = scenario.drawn(seed);
                    let keep = Keep::MESSAGES;
                    let run = || backend.run(&scenario, seed, &schedule, keep);
                    let run = attempt(run, LONGEST_STALL_NS);
                    ran();
                    let histories = &mut *lock(&outcome);
                    match (run, histories.as_mut()) {
                        (Err(error), _) => *histories = Err(error),
                        (Ok(attempt), Ok(all)) => {
                            all.extend(attempt.run.map(|run| run.history));
                        }
                        (Ok(_), Err(_)) => {}
                    }
                }
            });
        }
    });
    outcome
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// When the kernel sends again, measured this often, all at the same time.
fn tcp(times: u64) -> Result<Vec<Constant>, Failure> {
    let of = |phase, n| {
        let probes: Vec<_> = (0..times)
            .map(|_| thread::spawn(move || kernel::measure(phase, n)))
            .collect();
        (phase, n, probes)
    };
    let all = [Phase::Established, Phase::Opening].map(|phase| {
        (1..=kernel::RETRANSMISSIONS)
            .map(|n| of(phase, n))
            .collect::<Vec<_>>()
    });
    let mut constants = Vec::new();
    for (phase, n, probes) in all.into_iter().flatten() {
        let mut real_ms = Vec::new();
        for probe in probes {
            let took = probe
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            real_ms.push(took.as_secs_f64() * 1e3);
        }
        let what = match phase {
            Phase::Established => "data",
            Phase::Opening => "opening",
        };
        constants.push(Constant {
            name: format!("TCP: {what}, transmission {}", n + 1),
            meaning: "from the first transmission of a segment that is lost".into(),
            model: Times::of(vec![fractional_ms_from_ns(kernel::model_ns(phase, n))]),
            real: Times::of(real_ms),
        });
    }
    Ok(constants)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulator in place of real Redis, so that every constant is found and agrees. The kernel's
    /// are those of this machine, which may be busy: they are found.
    #[test]
    fn every_constant_is_found_in_the_worlds_histories() {
        let effort = Effort {
            world_runs: 40,
            real_runs: 6,
            at_once: 2,
        };
        let constants =
            measure(&World, effort, &AtomicBool::new(false), &|| ()).expect("nothing fails");
        for constant in &constants {
            let agrees = constant.model.agree_with(&constant.real);
            match constant.name.starts_with("TCP: ") {
                true => assert!(agrees.is_some(), "{constant:?}"),
                false => assert_eq!(agrees, Some(true), "{constant:?}"),
            }
        }
    }
}
