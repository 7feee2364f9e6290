//! What `locklab confirm` must notice: with its usual settings, a simulator that stands in for real
//! Redis and does one thing differently is never found equivalent. And one that does everything
//! alike is never found to differ, though it is late by a machine's jitter.

use std::env;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;

use locklab_history::Schedule;
use locklab_model::scenario::{Drawn, Scenario, load};
use locklab_real::comparison::{Comparison, Confirmed, Criteria, Finding, Runs, WITHIN};
use locklab_real::jitter::Jitter;
use locklab_real::series::{LONGEST_STALL_NS, Series};
use locklab_real::simulated::{Simulation, TWINS};
use locklab_results::recording::Environment;
use locklab_runner::backend::{Backend, World};
use locklab_runner::run::{Lateness, Run};
use locklab_runner::simulate::Keep;
use serde::Deserialize;

/// As `locklab confirm` has it.
const RUNS: Runs = Runs {
    least: 20,
    most: 120,
};

/// How many runs of each scenario the simulator makes: as many as a comparison makes at most.
const SIMULATED: u64 = 120;

/// The jitter that was measured before the runs.
const JITTER: Jitter = Jitter {
    message_ns: 1_000_000,
    timer_ns: 1_300_000,
    start_ns: 5_000_000,
};

/// How late the machine is in 99 of 100 cases, as each run measures it.
const LATENESS: Lateness = Lateness {
    longest_ns: 2_000_000,
    message_ns: 1_000_000,
    timer_ns: 300_000,
    start_ns: 0,
};

/// How late the machine usually is.
const LATE: Jitter = Jitter {
    message_ns: 300_000,
    timer_ns: 600_000,
    start_ns: 2_000_000,
};

/// What the real side does differently.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Disagreement {
    what: String,
    scenario: String,
    /// Overrides of both sides.
    #[serde(default)]
    both: Vec<String>,
    /// Overrides of the real side alone.
    real: Vec<String>,
    /// The rates are so near to the bound of equivalence that they are unclear.
    #[serde(default)]
    is_near_the_bound: bool,
}

impl Disagreement {
    /// The overrides of the real side: its own, and those of both that it does not replace.
    fn real_sets(&self) -> Vec<String> {
        let path = |set: &str| set.split('=').next().map(str::to_owned);
        let is_replaced = |set: &&String| { self.real.iter() }.any(|own| path(own) == path(set));
        let others = self.both.iter().filter(|set| !is_replaced(set));
        others.chain(&self.real).cloned().collect()
    }
}

#[derive(Deserialize)]
struct Disagreements {
    disagreement: Vec<Disagreement>,
}

/// The simulator in place of real Redis: with this scenario, whatever it is asked to run.
struct Other(Scenario);

impl Backend for Other {
    fn environment(&self) -> Environment {
        Environment::Redis
    }

    fn usual_seeds(&self, _: &Scenario) -> u64 {
        RUNS.least
    }

    fn run(
        &self,
        _: &Scenario,
        seed: u64,
        _: &Schedule,
        keep: Keep,
    ) -> Result<Run, Box<dyn Error + Send + Sync>> {
        let Drawn { scenario, schedule } = LATE.drawn(&self.0, seed);
        let run = World.run(&scenario, seed, &schedule, keep)?;
        Ok(Run {
            lateness: LATENESS,
            ..run
        })
    }
}

/// What `locklab confirm` finds if the real side runs `other`.
fn compared(scenario: Scenario, other: Scenario) -> Comparison {
    let mut simulation = Simulation::default();
    for seed in 0..SIMULATED {
        let Simulation { prompt, twins } = &mut simulation;
        prompt.add(&scenario, seed).expect("it runs");
        if seed < TWINS {
            twins.add_twin(&scenario, seed, JITTER).expect("it runs");
        }
    }
    let criteria = Criteria::of([&scenario].into_iter(), WITHIN);
    let result: Mutex<Option<Confirmed>> = Mutex::default();
    let stop = AtomicBool::new(false);
    let scenarios = [(scenario, simulation)];
    let series = Series {
        backend: &Other(other),
        scenarios: &scenarios,
        runs: RUNS,
        criteria,
        jitter: JITTER,
        longest_stall_ns: LONGEST_STALL_NS,
        made_by: "a test",
        stop: &stop,
        finished: &|_, confirmed| {
            *result.lock().expect("nobody panics") = Some(confirmed.clone());
        },
    };
    series.run(0..1, 1);
    let result = result.into_inner().expect("nobody panics");
    let result = result.expect("it is finished");
    assert_eq!(result.failure, None);
    let [(scenario, simulation)] = &scenarios;
    Comparison::of(scenario, simulation, &result, criteria)
}

/// What was compared, for the failure of a test.
fn said(comparison: &Comparison) -> String {
    let rates = comparison.rates.iter().map(|row| {
        let (world, real) = (row.world.rate(), row.real.rate());
        let (low, high) = (100.0 * row.low, 100.0 * row.high);
        format!(
            "{}: {world:?} and {real:?}, {low:.0} to {high:.0} points, p {:.1e}, {:?}",
            row.property.name(),
            row.p,
            row.finding
        )
    });
    let durations = comparison.durations.iter().map(|row| {
        let (world, late, real) = (row.world, row.late, row.real);
        let p = row.p();
        format!(
            "{:?}: {world:?}, {late:?}, {real:?}, p {p:.1e}, {:?}",
            row.observable, row.finding
        )
    });
    rates.chain(durations).collect::<Vec<_>>().join("\n  ")
}

/// Calls `judge` with each of these, on two threads; its complaints are the failure of the test.
fn each<T: Sync>(all: &[T], judge: impl Fn(&T) -> Option<String> + Sync) {
    let complaints = Mutex::new(Vec::new());
    let next = Mutex::new(all.iter());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(one) = next.lock().expect("nobody panics").next() else {
                        return;
                    };
                    let complaint = judge(one);
                    complaints.lock().expect("nobody panics").extend(complaint);
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("nobody panics");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_planted_disagreement_is_noticed() {
    let all: Disagreements =
        toml::from_str(include_str!("disagreements.toml")).expect("it is valid");
    assert!(all.disagreement.len() >= 20);
    each(&all.disagreement, |planted| {
        let of = |sets: &[String]| {
            load(&planted.scenario, sets).unwrap_or_else(|error| panic!("{planted:?}: {error}"))
        };
        let comparison = compared(of(&planted.both), of(&planted.real_sets()));
        let is_noticed = match planted.is_near_the_bound {
            true => comparison.finding() == Finding::Unclear,
            false => comparison.finding() == Finding::Differ,
        };
        (!is_noticed).then(|| format!("not noticed: {}: {}", planted.what, said(&comparison)))
    });
}

/// The first scenarios of the list; with `LOCKLAB_LONG=1` all.
#[test]
fn a_simulator_that_is_only_late_is_equivalent() {
    let alike = match env::var_os("LOCKLAB_LONG") {
        Some(_) => ALIKE,
        None => &ALIKE[..6],
    };
    each(alike, |name| {
        let scenario = load(name, &[]).expect("it ships");
        let comparison = compared(scenario.clone(), scenario);
        let is_alike = comparison.finding() == Finding::Equivalent;
        (!is_alike).then(|| format!("{name}: {}", said(&comparison)))
    });
}

/// With faults of every kind, rates of every size, and one node or several.
const ALIKE: &[&str] = &[
    "kleppmann/k1",
    "antirez/a10",
    "kleppmann/k10",
    "kleppmann/k12",
    "kleppmann/k2",
    "redis-docs/r4",
    "antirez/a6",
    "antirez/a9",
    "costs/contended",
    "kleppmann/f1",
    "kleppmann/k13-unchecked",
    "kleppmann/k15-clock",
    "kleppmann/k6",
    "kleppmann/k9",
    "memory/evicted",
    "problems/campaign",
    "redis-docs/r12-everysec",
    "redisson/read-write",
    "redisson/watchdog-pause",
    "seeds/getset-as-listed",
];
