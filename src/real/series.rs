//! Scenarios on real Redis compared with the simulator: many runs, several at a time, and whether
//! both agree.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use locklab_check::Property;
use locklab_evidence::{Prediction, Tally, same_rate};
use locklab_history::Schedule;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_results::Cell;
use locklab_runner::backend::Backend;
use locklab_runner::judged::JudgedRun;
use locklab_runner::pool::lock;
use locklab_runner::run::Run;
use locklab_runner::simulate::Keep;

/// The longest stall of the machine in a run that counts, in nanoseconds. A run with a longer stall
/// is discarded, because the stall may have caused its verdicts. The leases of the scenarios are
/// much longer. It scales with a shortened scenario.
pub const LONGEST_STALL_NS: u64 = 50_000_000;

/// The maximum number of attempts at a run on a machine that keeps stalling.
const ATTEMPTS: u64 = 3;

/// Below this p-value two rates are taken for different. A series compares some hundred rates.
const DIFFERENT: f64 = 0.001;

/// Below this p-value they may be different, and more runs are worth their time.
const DOUBTFUL: f64 = 0.05;

/// A run that counts, or none.
pub struct Attempt {
    /// The number of runs discarded because of stalls.
    pub discarded: u64,
    /// The run, unless all were.
    pub run: Option<Run>,
}

/// Runs a scenario, and repeats the run if the machine stalled for more than `longest_stall_ns`.
///
/// # Errors
///
/// See [`Backend::run`].
pub fn attempt(
    backend: &dyn Backend,
    scenario: &Scenario,
    seed: u64,
    schedule: &Schedule,
    keep: Keep,
    longest_stall_ns: u64,
) -> Result<Attempt, Box<dyn Error + Send + Sync>> {
    for discarded in 0..ATTEMPTS {
        let run = backend.run(scenario, seed, schedule, keep)?;
        if run.stall_ns <= longest_stall_ns {
            let run = Some(run);
            return Ok(Attempt { discarded, run });
        }
    }
    Ok(Attempt {
        discarded: ATTEMPTS,
        run: None,
    })
}

/// How many runs of each scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// The minimum for every scenario.
    pub least: u64,
    /// The maximum for a scenario whose agreement is in doubt after the minimum.
    pub most: u64,
}

/// One scenario on real Redis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The runs that count.
    pub real: Cell,
    /// Runs discarded because of stalls.
    pub discarded: u64,
    /// Why runs failed, if some did: the first reason.
    pub failure: Option<String>,
    /// The time that its runs took together, in seconds.
    pub seconds: f64,
}

/// The rates of one property, in the simulator and on real Redis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// The property.
    pub property: Property,
    /// The scenario's prediction.
    pub predicted: Prediction,
    /// The counts in the simulator.
    pub world: Tally,
    /// The counts on real Redis.
    pub real: Tally,
    /// The p-value of Fisher's exact test of equal rates.
    pub p: f64,
    /// The finding.
    pub finding: Finding,
}

/// Whether two rates agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// They may well be the same.
    Agree,
    /// They are different, or may be, and the scenario says why; see
    /// [`OnRedis`](locklab_model::scenario::OnRedis).
    Explained,
    /// There are too few runs to tell.
    Unclear,
    /// They are different.
    Differ,
}

impl Finding {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Agree => "agree",
            Finding::Explained => "explained",
            Finding::Unclear => "unclear",
            Finding::Differ => "differ",
        }
    }
}

impl Agreement {
    /// Compares the predicted properties of a scenario.
    pub fn of(scenario: &Scenario, world: &Cell, real: &Cell) -> Vec<Agreement> {
        let compare = |(property, predicted): (&Property, &Prediction)| {
            let tally = |cell: &Cell| cell.tallies.get(property).copied().unwrap_or_default();
            let (world, real) = (tally(world), tally(real));
            let p = same_rate(world.rate(), real.rate());
            let known = scenario.on_redis.as_ref();
            let is_known = known.is_some_and(|known| known.differs.contains(property));
            Agreement {
                property: *property,
                predicted: *predicted,
                world,
                real,
                p,
                finding: match p {
                    _ if real.runs() == 0 => Finding::Unclear,
                    p if p < DOUBTFUL && is_known => Finding::Explained,
                    p if p < DIFFERENT => Finding::Differ,
                    p if p < DOUBTFUL => Finding::Unclear,
                    _ => Finding::Agree,
                },
            }
        };
        scenario.expect.iter().map(compare).collect()
    }
}

/// Why the rates differ, if some do as the scenario says they would.
pub fn explanation<'s>(scenario: &'s Scenario, agreements: &[Agreement]) -> Option<&'s str> {
    let known = scenario.on_redis.as_ref()?;
    let is_explained = |agreement: &Agreement| agreement.finding == Finding::Explained;
    let differs = agreements.iter().any(is_explained);
    differs.then(|| known.why.trim())
}

/// Scenarios that run on real Redis, several runs at a time.
pub struct Series<'a> {
    /// Real Redis.
    pub backend: &'a (dyn Backend + Sync),
    /// The scenarios, each with its runs in the simulator.
    pub scenarios: &'a [(Scenario, Cell)],
    /// How many runs of each.
    pub runs: Runs,
    /// The longest stall of the machine in a run that counts, in nanoseconds.
    pub longest_stall_ns: u64,
    /// Set it to end the series early.
    pub stop: &'a AtomicBool,
    /// Called with each finished scenario's index and result, one call at a time.
    pub finished: &'a (dyn Fn(usize, &Confirmed) + Sync),
}

/// The remaining work.
struct Work {
    /// The scenario and seed of each run that has not begun.
    open: VecDeque<(usize, u64)>,
    /// Per scenario, the runs that have not ended.
    missing: Vec<u64>,
    /// Per scenario, the seeds that were used so far: all below this.
    seeds: Vec<u64>,
    results: Vec<Confirmed>,
}

impl Series<'_> {
    /// Runs the scenarios of `places` on this many threads.
    pub fn run(&self, places: impl Iterator<Item = usize>, threads: usize) {
        let mut places: Vec<usize> = places.collect();
        // The longest first, so that no thread waits for one of them at the end.
        places.sort_by_key(|place| Reverse(self.scenarios[*place].0.horizon_ms));
        let mut missing = vec![0; self.scenarios.len()];
        places
            .iter()
            .for_each(|place| missing[*place] = self.runs.least);
        let open = places
            .iter()
            .flat_map(|place| (0..self.runs.least).map(|seed| (*place, seed)));
        let work = Mutex::new(Work {
            open: open.collect(),
            seeds: missing.clone(),
            missing,
            results: vec![Confirmed::default(); self.scenarios.len()],
        });
        let changed = Condvar::new();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work(&work, &changed));
            }
        });
    }

    fn work(&self, work: &Mutex<Work>, changed: &Condvar) {
        loop {
            let mut now = lock(work);
            let (place, seed) = loop {
                if self.stop.load(Ordering::Relaxed) || now.missing.iter().all(|runs| *runs == 0) {
                    changed.notify_all();
                    return;
                }
                match now.open.pop_front() {
                    Some(run) => break run,
                    None => {
                        now = changed
                            .wait(now)
                            .unwrap_or_else(std::sync::PoisonError::into_inner);
                    }
                }
            };
            drop(now);
            let run = AssertUnwindSafe(|| self.run_once(place, seed));
            let outcome = catch_unwind(run).unwrap_or_else(|panic| {
                // Otherwise the other threads would wait for this run without end.
                self.stop.store(true, Ordering::Relaxed);
                let _so_that_none_begins_to_wait_now = lock(work);
                changed.notify_all();
                resume_unwind(panic)
            });
            if self.stop.load(Ordering::Relaxed) {
                continue;
            }
            self.count(&mut lock(work), place, outcome);
            changed.notify_all();
        }
    }

    /// Runs one scenario with one seed.
    fn run_once(&self, place: usize, seed: u64) -> Confirmed {
        let (scenario, _) = &self.scenarios[place];
        let begun = Instant::now();
        let mut outcome = Confirmed::default();
        let Drawn { scenario, schedule } = scenario.drawn(seed);
        let attempt = attempt(
            self.backend,
            &scenario,
            seed,
            &schedule,
            Keep::default(),
            self.longest_stall_ns,
        );
        match attempt {
            Ok(attempt) => {
                outcome.discarded = attempt.discarded;
                if let Some(run) = attempt.run {
                    let run = JudgedRun::of(run, schedule, &scenario);
                    outcome.real.add(seed, &run.judged());
                }
            }
            Err(error) => outcome.failure = Some(error.to_string()),
        }
        outcome.seconds = begun.elapsed().as_secs_f64();
        outcome
    }

    /// Counts a run; if it was the last one, sees whether more are needed.
    fn count(&self, work: &mut Work, place: usize, outcome: Confirmed) {
        work.missing[place] -= 1;
        let result = &mut work.results[place];
        result.add(outcome);
        if work.missing[place] > 0 {
            return;
        }
        let (scenario, world) = &self.scenarios[place];
        let begun = work.seeds[place];
        let in_doubt = Agreement::of(scenario, world, &result.real)
            .iter()
            .any(|agreement| agreement.p < DOUBTFUL);
        if in_doubt && result.failure.is_none() && begun < self.runs.most {
            let more = begun.min(self.runs.most - begun);
            work.missing[place] = more;
            work.seeds[place] += more;
            // At the front: with a new seed each, and soon.
            for seed in (begun..begun + more).rev() {
                work.open.push_front((place, seed));
            }
            return;
        }
        (self.finished)(place, result);
    }
}

impl Confirmed {
    fn add(&mut self, other: Confirmed) {
        self.real.merge(other.real);
        self.discarded += other.discarded;
        self.failure = self.failure.take().or(other.failure);
        self.seconds += other.seconds;
    }

    /// The number of runs that count.
    pub fn real_runs(&self) -> u64 {
        let runs = self.real.tallies.values().map(Tally::runs);
        runs.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use locklab_model::scenario::{OnRedis, load};
    use locklab_results::recording::Environment;
    use locklab_runner::backend::World;
    use locklab_runner::batch::{self, BatchOptions, Job};

    /// The simulator in place of real Redis, without faults if `spares`, and with a stall in the
    /// first run of every seed if `stalls`.
    struct SimulatedRedis {
        spares: bool,
        stalls: bool,
        seen: Mutex<BTreeSet<u64>>,
    }

    impl Backend for SimulatedRedis {
        fn environment(&self) -> Environment {
            Environment::Redis
        }

        fn usual_seeds(&self, _: &Scenario) -> u64 {
            1
        }

        fn run(
            &self,
            scenario: &Scenario,
            seed: u64,
            schedule: &Schedule,
            keep: Keep,
        ) -> Result<Run, Box<dyn Error + Send + Sync>> {
            let nothing = Schedule::default();
            let schedule = if self.spares { &nothing } else { schedule };
            // Other seeds than those of the simulated runs it is compared with.
            let mut run = World.run(scenario, seed + 1000, schedule, keep)?;
            if lock(&self.seen).insert(seed) && self.stalls {
                run.stall_ns = LONGEST_STALL_NS + 1;
            }
            Ok(run)
        }
    }

    fn confirmed(spares: bool, stalls: bool) -> (Vec<Finding>, Confirmed) {
        of(load("kleppmann/k1", &[]).expect("it ships"), spares, stalls)
    }

    fn of(scenario: Scenario, spares: bool, stalls: bool) -> (Vec<Finding>, Confirmed) {
        let job = Job {
            scenario: scenario.clone(),
            parameters: vec![],
            seeds: 0..100,
        };
        let stop = AtomicBool::new(false);
        let world = batch::run(&[job], &BatchOptions::quiet(1, &stop)).expect("it runs");
        let world = world[0].clone().expect("it was not stopped");
        let backend = SimulatedRedis {
            spares,
            stalls,
            seen: Mutex::default(),
        };
        let result = Mutex::default();
        let scenarios = [(scenario, world)];
        let series = Series {
            backend: &backend,
            scenarios: &scenarios,
            runs: Runs { least: 4, most: 16 },
            longest_stall_ns: LONGEST_STALL_NS,
            stop: &stop,
            finished: &|_, confirmed| *lock(&result) = confirmed.clone(),
        };
        series.run(0..1, 3);
        let result: Confirmed = lock(&result).clone();
        let (scenario, world) = &scenarios[0];
        let agreements = Agreement::of(scenario, world, &result.real);
        let findings = agreements.iter().map(|agreement| agreement.finding);
        (findings.collect(), result)
    }

    #[test]
    fn simulator_agrees_with_itself_after_few_runs() {
        let (findings, result) = confirmed(false, false);
        assert!(findings.iter().all(|finding| *finding == Finding::Agree));
        assert_eq!((result.real_runs(), result.discarded), (4, 0));
    }

    #[test]
    fn stalled_runs_are_discarded_and_not_judged() {
        let (findings, result) = confirmed(false, true);
        assert!(findings.iter().all(|finding| *finding == Finding::Agree));
        assert_eq!((result.real_runs(), result.discarded), (4, 4));
    }

    #[test]
    fn other_rates_differ_after_more_runs() {
        let (findings, result) = confirmed(true, false);
        assert!(findings.contains(&Finding::Differ), "{findings:?}");
        assert!(result.real_runs() > 4);
    }

    #[test]
    fn a_difference_is_explained_only_where_the_scenario_names_the_property() {
        let mut scenario = load("kleppmann/k1", &[]).expect("it ships");
        scenario
            .expect
            .retain(|property, _| *property == Property::Resource);
        let mut on_redis = OnRedis {
            differs: vec![Property::Resource],
            why: "a test".into(),
        };
        scenario.on_redis = Some(on_redis.clone());
        let (findings, _) = of(scenario.clone(), true, false);
        assert_eq!(findings, [Finding::Explained]);
        let (findings, _) = of(scenario.clone(), false, false);
        assert_eq!(findings, [Finding::Agree]);
        on_redis.differs = vec![Property::Belief];
        scenario.on_redis = Some(on_redis);
        let (findings, _) = of(scenario, true, false);
        assert_eq!(findings, [Finding::Differ]);
    }

    /// A backend with a bug.
    struct PanickingBackend;

    impl Backend for PanickingBackend {
        fn environment(&self) -> Environment {
            Environment::Redis
        }

        fn usual_seeds(&self, _: &Scenario) -> u64 {
            1
        }

        fn run(
            &self,
            _: &Scenario,
            seed: u64,
            _: &Schedule,
            _: Keep,
        ) -> Result<Run, Box<dyn Error + Send + Sync>> {
            panic!("planted, with seed {seed}")
        }
    }

    #[test]
    fn a_panic_ends_the_series() {
        let scenarios = [(
            load("kleppmann/k1", &[]).expect("it ships"),
            Cell::default(),
        )];
        let stop = AtomicBool::new(false);
        let series = Series {
            backend: &PanickingBackend,
            scenarios: &scenarios,
            runs: Runs { least: 2, most: 2 },
            longest_stall_ns: LONGEST_STALL_NS,
            stop: &stop,
            finished: &|_, _| panic!("nothing is finished"),
        };
        // The third thread has nothing to do but wait.
        let ended = catch_unwind(AssertUnwindSafe(|| series.run(0..1, 3)));
        assert!(ended.is_err());
    }
}
