//! The jitter of this machine, and whether it would change the rates of a shortened scenario.
//!
//! A run waits most of its time, and wakes up when a timer ends or a message has arrived. A probe
//! does the same on as many threads as there will be runs. The measured delay is then added to
//! every message of the scenario in the simulator, and the start time of a process to every
//! restart. If a rate changes in the simulator, real runs at this scale would measure the machine
//! and not the lock.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use locklab_values::units::fractional_ms_from_ns;

use super::Programs;
use locklab_check::Property;
use locklab_evidence::{Tally, same_rate};
use locklab_history::Span;
use locklab_model::fault::expand;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_results::Cell;

/// How long the machine is observed.
const PROBE: Duration = Duration::from_millis(500);

/// How long a thread of the probe sleeps at a time: as a scenario's network delays a message.
const SLEEP: Duration = Duration::from_millis(1);

/// Below this p-value two rates are taken for different. Some hundred of them are compared.
const DIFFERENT: f64 = 0.001;

/// How many processes are started one after the other.
const STARTS: usize = 5;

/// How late wake-ups, messages and processes are on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jitter {
    /// 99 of 100 messages are late by at most this, in nanoseconds.
    pub message_ns: u64,
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
        let ends: Vec<_> = (0..at_once.max(1))
            .map(|_| connection())
            .collect::<io::Result<_>>()?;
        thread::scope(|scope| {
            let probes: Vec<_> = ends
                .into_iter()
                .map(|(here, there)| {
                    scope.spawn(|| echo(there));
                    scope.spawn(|| probe(here))
                })
                .collect();
            let start_ns = start(programs)?;
            let mut late_ns = Vec::new();
            for probe in probes {
                match probe.join() {
                    Ok(late) => late_ns.append(&mut late?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            let message_ns = all_but_a_hundredth(late_ns);
            Ok(Self {
                message_ns,
                start_ns,
            })
        })
    }

    /// The scenario in a network that is slower by this, with servers that restart later.
    #[must_use]
    pub fn added_to(self, scenario: &Scenario) -> Scenario {
        let mut slower = scenario.clone();
        let latency_ms = &mut slower.network.latency_ms;
        *latency_ms = latency_ms.longer_by_ms(fractional_ms_from_ns(self.message_ns));
        for fault in slower.fault.values_mut() {
            if fault.kind().span() == Span::Down {
                fault.duration_ms = fault
                    .duration_ms
                    .map(|down_ms| down_ms.longer_by_ms(fractional_ms_from_ns(self.start_ns)));
            }
        }
        slower
    }

    /// What this seed makes of the scenario, in a network that is slower by this.
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

/// The least value that 99 of 100 do not exceed.
fn all_but_a_hundredth(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let place = values.len() * 99 / 100;
    values.get(place).copied().unwrap_or(0)
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

/// Both ends of a connection.
fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

/// Sleeps and asks; how late each answer was, in nanoseconds.
fn probe(mut server: TcpStream) -> io::Result<Vec<u64>> {
    let begun = Instant::now();
    let mut late = Vec::new();
    while begun.elapsed() < PROBE {
        let before = Instant::now();
        thread::sleep(SLEEP);
        server.write_all(b"?")?;
        server.read_exact(&mut [0])?;
        let late_by = before.elapsed().saturating_sub(SLEEP);
        late.push(u64::try_from(late_by.as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(late)
}

/// Answers until the connection is closed.
fn echo(mut client: TcpStream) {
    let mut byte = [0];
    while client.read_exact(&mut byte).is_ok() && client.write_all(&byte).is_ok() {}
}

#[cfg(test)]
mod tests {
    use locklab_values::units::ns_from_ms;

    use super::*;
    use locklab_model::scenario::{Scale, load};
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

    #[test]
    fn jitter_is_the_99th_percentile() {
        assert_eq!(all_but_a_hundredth((1..=1000).rev().collect()), 991);
        assert_eq!(all_but_a_hundredth(vec![]), 0);
    }

    #[test]
    fn a_machine_is_late_by_something() {
        let programs = Programs {
            locklab: "true".into(),
            redis_server: "true".into(),
        };
        let jitter = Jitter::measure(&programs, 2).expect("the loopback interface works");
        assert!(jitter.message_ns > 0 && jitter.start_ns > 0);
    }
}
