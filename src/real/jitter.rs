//! The jitter of this machine, and whether it would change the rates of a shortened scenario.
//!
//! It is measured twice: before the runs, by probes on as many threads as there will be runs, and
//! during each of them, by its heartbeat. The measured delays are added to every message and every
//! timer of the scenario in the simulator, and the start time of a process to every restart. If a
//! rate changes in the simulator, real runs at this scale would measure the machine and not the
//! lock.

use std::borrow::Cow;
use std::io;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use locklab_values::units::{NS_PER_MS, fractional_ms_from_ns};

use super::Programs;
use super::probe::{Probe, Sample, lateness};
use locklab_check::Property;
use locklab_evidence::{Tally, same_rate};
use locklab_history::Span;
use locklab_model::fault::expand;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_results::Cell;
use locklab_runner::run::Lateness;

/// How long the machine is observed.
const PROBE: Duration = Duration::from_millis(500);

/// How long a thread of the probe sleeps at a time: as a scenario's network delays a message.
const SLEEP: Duration = Duration::from_millis(1);

/// A timer of tokio ends at a whole millisecond, and never early.
const TIMER_RESOLUTION_NS: u64 = NS_PER_MS;

/// Below this p-value two rates are taken for different. Some hundred of them are compared.
const DIFFERENT: f64 = 0.001;

/// How many processes are started one after the other.
const STARTS: usize = 5;

/// How late wake-ups, messages and processes are on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jitter {
    /// 99 of 100 messages are late by at most this, in nanoseconds.
    pub message_ns: u64,
    /// 99 of 100 timers of a client are late by at most this, in nanoseconds.
    pub timer_ns: u64,
    /// The longest time that the start of a server's process took, in nanoseconds.
    pub start_ns: u64,
}

impl Jitter {
    /// Measures it under the load of this many runs, in half a second.
    ///
    /// # Errors
    ///
    /// If no connection on the loopback interface can be opened, or no process started.
    pub fn measure(programs: &Programs, at_once: usize) -> io::Result<Self> {
        let probes: Vec<_> = (0..at_once.max(1))
            .map(|_| Probe::start())
            .collect::<io::Result<_>>()?;
        thread::scope(|scope| {
            let threads: Vec<_> = probes
                .into_iter()
                .map(|probe| scope.spawn(|| observe(probe)))
                .collect();
            let start_ns = start(programs)?;
            let mut samples = Vec::new();
            for thread in threads {
                match thread.join() {
                    Ok(measured) => samples.append(&mut measured?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(Self {
                message_ns: 0,
                timer_ns: 0,
                start_ns,
            }
            .during(lateness(&samples)))
        })
    }

    /// The jitter of a run in which the machine was this late.
    #[must_use]
    pub fn during(self, lateness: Lateness) -> Self {
        Self {
            message_ns: lateness.message_ns,
            timer_ns: lateness.timer_ns + TIMER_RESOLUTION_NS,
            ..self
        }
    }

    /// The scenario in a network that is slower by this, with clients whose timers are late and
    /// servers that restart later.
    #[must_use]
    pub fn added_to(self, scenario: &Scenario) -> Scenario {
        let mut slower = scenario.clone();
        let latency_ms = &mut slower.network.latency_ms;
        *latency_ms = latency_ms.longer_by_ms(fractional_ms_from_ns(self.message_ns));
        slower.clocks.timers_late_ms += fractional_ms_from_ns(self.timer_ns);
        for fault in slower.fault.values_mut() {
            if fault.kind().span() == Span::Down {
                fault.duration_ms = fault
                    .duration_ms
                    .as_ref()
                    .map(|down_ms| down_ms.longer_by_ms(fractional_ms_from_ns(self.start_ns)));
            }
        }
        slower
    }

    /// What this seed makes of the scenario on a machine that is late by this.
    pub fn drawn(self, scenario: &Scenario, seed: u64) -> Drawn<'static> {
        let late = self.added_to(&scenario.drawn(seed).scenario);
        Drawn {
            schedule: expand(&late.fault, seed),
            scenario: Cow::Owned(late),
        }
    }
}

/// The reason why a shortened scenario must not run on real Redis, if there is one: in the
/// simulator its rates differ from those of the unscaled one (`full`), or jitter changes them
/// (`late`).
pub fn drowned(scenario: &Scenario, full: &Cell, shortened: &Cell, late: &Cell) -> Option<String> {
    let changed = |before: &Cell, after: &Cell| {
        let tally = |cell: &Cell, property: &Property| -> Tally {
            cell.tallies.get(property).copied().unwrap_or_default()
        };
        scenario.expect.keys().find_map(|property| {
            let [before, after] = [before, after].map(|cell| tally(cell, property));
            let p = same_rate(before.rate(), after.rate());
            (p < DIFFERENT).then(|| {
                format!(
                    "{} from {} of {} to {} of {} runs in the world",
                    property.name(),
                    before.violated,
                    before.runs(),
                    after.violated,
                    after.runs()
                )
            })
        })
    };
    let by_scale = changed(full, shortened).map(|what| format!("shorter durations take {what}"));
    by_scale.or_else(|| {
        changed(shortened, late).map(|what| format!("this machine's jitter takes {what}"))
    })
}

/// How long the two programs take to start that the process of a real server consists of.
fn start(programs: &Programs) -> io::Result<u64> {
    let mut longest = Duration::ZERO;
    for _ in 0..STARTS {
        let before = Instant::now();
        for program in [&programs.locklab, &programs.redis_server] {
            Command::new(program).arg("--version").output()?;
        }
        longest = longest.max(before.elapsed());
    }
    Ok(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX))
}

/// Measures for as long as the machine is observed.
fn observe(mut probe: Probe) -> io::Result<Vec<Sample>> {
    let begun = Instant::now();
    let mut samples = Vec::new();
    while begun.elapsed() < PROBE {
        samples.push(probe.measure(SLEEP)?);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use locklab_values::units::ns_from_ms;

    use super::*;
    use crate::simulated::Simulated;
    use locklab_model::scenario::{Scale, load};
    use locklab_results::Observable;
    use locklab_runner::batch::{self, BatchOptions, Job};
    use std::sync::atomic::AtomicBool;

    fn cells(scenarios: [&Scenario; 3]) -> Vec<Cell> {
        let job = |scenario: &Scenario| Job {
            scenario: scenario.clone(),
            parameters: vec![],
            seeds: 0..100,
        };
        let stop = AtomicBool::new(false);
        let cells = batch::run(&scenarios.map(job), &BatchOptions::quiet(1, &stop));
        let cells = cells.expect("no run fails").into_iter();
        cells
            .map(|cell| cell.expect("it was not stopped"))
            .collect()
    }

    fn why(name: &str, scale: &str, message_ms: u64, start_ms: u64) -> Option<String> {
        let scenario = load(name, &[]).expect("it ships");
        let scale: Scale = scale.parse().expect("a scale");
        let shortened = scenario.scaled(scale).expect("it is valid");
        let jitter = Jitter {
            message_ns: ns_from_ms(message_ms),
            start_ns: ns_from_ms(start_ms),
            timer_ns: 0,
        };
        let cells = cells([&scenario, &shortened, &jitter.added_to(&shortened)]);
        drowned(&scenario, &cells[0], &cells[1], &cells[2])
    }

    const JITTER: &str = "this machine's jitter takes ";

    #[test]
    fn a_scenario_may_be_shortened_as_far_as_messages_are_prompt() {
        assert_eq!(why("kleppmann/k1", "0.2", 1, 0), None);
        let why = why("kleppmann/k1", "0.2", 200, 0).expect("a lease of 200 ms does not survive");
        assert!(why.starts_with(JITTER), "{why}");
    }

    /// The clock must not jump before the node that waits by it has started.
    #[test]
    fn a_scenario_may_be_shortened_as_far_as_processes_start_promptly() {
        assert_eq!(why("kleppmann/k12", "0.2", 0, 2), None);
        let why = why("kleppmann/k12", "0.2", 0, 20).expect("it jumps after 10 ms");
        assert!(why.starts_with(JITTER), "{why}");
    }

    #[test]
    fn a_scenario_may_be_shortened_as_far_as_redis_itself_allows() {
        // With `everysec` no write is lost in a hundredth of a run.
        let why = why("redis-docs/r12-everysec", "0.01", 0, 0).expect("the second stays a second");
        assert!(why.starts_with("shorter durations take "), "{why}");
    }

    /// A third client of five nodes waits for two of them in vain, 50 ms each.
    #[test]
    fn late_timers_delay_what_waits_for_them() {
        let grant_ns = |jitter: Jitter| {
            let scenario = load("kleppmann/k8", &[]).expect("it ships");
            let mut late = Simulated::default();
            late.add_late(&scenario, 0, jitter).expect("it runs");
            late.runs[&0].durations_ns[&Observable::Grant]
        };
        let late = Jitter {
            timer_ns: 3 * NS_PER_MS,
            ..Jitter::default()
        };
        assert_eq!(grant_ns(late) - grant_ns(Jitter::default()), 6 * NS_PER_MS);
    }

    #[test]
    fn a_machine_is_late_by_something() {
        let programs = Programs {
            locklab: "true".into(),
            redis_server: "true".into(),
            zookeeper: crate::ZooKeeper::find(),
            postgres: crate::Postgres::find(),
        };
        let jitter = Jitter::measure(&programs, 2).expect("the loopback interface works");
        assert!(jitter.message_ns > 0 && jitter.start_ns > 0);
    }
}
