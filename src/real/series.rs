//! Scenarios on real Redis compared with the simulator: many runs, several at a time, and whether
//! both agree.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use super::comparison::{Comparison, Confirmed, Criteria, Runs};
use super::jitter::Jitter;
use super::simulated::Simulation;
use super::{ConfirmError, RealRedis, run_with};
use locklab_history::Schedule;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_results::Sketch;
use locklab_runner::backend::Backend;
use locklab_runner::batch::Part as _;
use locklab_runner::judged::JudgedRun;
use locklab_runner::pool::lock;
use locklab_runner::run::Run;
use locklab_runner::simulate::Keep;
use locklab_values::units::ns_from_ms;

/// The longest stall of the machine in a run that counts, in nanoseconds, and the longest delay with
/// which a process began in it. A run with a longer one is discarded, because it may have caused the
/// verdicts. A process that begins late is a process that stands still, to all others: so the limit is
/// the same. The leases of the scenarios are much longer. It scales with a shortened scenario.
pub const LONGEST_STALL_NS: u64 = 50_000_000;

/// The maximum number of attempts at a run on a machine that keeps stalling.
const ATTEMPTS: u64 = 3;

/// A run that counts, or none.
pub struct Attempt {
    /// The number of runs discarded because the machine stalled or a process began late.
    pub discarded: u64,
    /// The run, unless all were.
    pub run: Option<Run>,
}

/// Makes a run, and repeats it if the machine stalled, or a process began late, by more than `longest_stall_ns`.
///
/// # Errors
///
/// Those of the run.
pub fn attempt<E>(run: impl Fn() -> Result<Run, E>, longest_stall_ns: u64) -> Result<Attempt, E> {
    for discarded in 0..ATTEMPTS {
        let run = run()?;
        if run.lateness.worst_ns() <= longest_stall_ns {
            let run = Some(run);
            return Ok(Attempt { discarded, run });
        }
    }
    Ok(Attempt {
        discarded: ATTEMPTS,
        run: None,
    })
}

/// The longest stall of the machine in a run of [`run_undisturbed`], in nanoseconds.
pub const UNDISTURBED_NS: u64 = 4 * LONGEST_STALL_NS;

/// A run for a test on a machine that is busy: that of [`run_within`] 200 ms.
///
/// # Errors
///
/// See [`run_with`].
pub fn run_undisturbed(
    real: &RealRedis,
    scenario: &Scenario,
    seed: u64,
    schedule: &Schedule,
    keep: Keep,
) -> Result<Run, ConfirmError> {
    run_within(real, scenario, seed, schedule, keep, UNDISTURBED_NS)
}

/// A run, repeated as in [`attempt`]; the last attempt counts in any case. What a test relies on must be further
/// apart than the limit, for instance the starts of two clients.
///
/// # Errors
///
/// See [`run_with`].
pub fn run_within(
    real: &RealRedis,
    scenario: &Scenario,
    seed: u64,
    schedule: &Schedule,
    keep: Keep,
    longest_stall_ns: u64,
) -> Result<Run, ConfirmError> {
    let run = || run_with(real, scenario, seed, schedule, keep);
    let mut last = run()?;
    for _ in 1..ATTEMPTS {
        if last.lateness.worst_ns() > longest_stall_ns {
            last = run()?;
        }
    }
    Ok(last)
}

/// Scenarios that run on real Redis, several runs at a time.
pub struct Series<'a> {
    /// Real Redis.
    pub backend: &'a (dyn Backend + Sync),
    /// The scenarios, each with its runs in the simulator.
    pub scenarios: &'a [(Scenario, Simulation)],
    /// How many runs of each.
    pub runs: Runs,
    /// What decides.
    pub criteria: Criteria,
    /// How late the machine is; each run measures anew how late messages and timers are.
    pub jitter: Jitter,
    /// The longest stall of the machine in a run that counts, in nanoseconds.
    pub longest_stall_ns: u64,
    /// Which Locklab makes the runs, on which machine, in words.
    pub made_by: &'a str,
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
        for place in &places {
            let (scenario, world) = &self.scenarios[*place];
            missing[*place] = world.first_look(scenario, self.runs);
        }
        let open = places
            .iter()
            .flat_map(|place| (0..missing[*place]).map(|seed| (*place, seed)));
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
        let (stated, _) = &self.scenarios[place];
        let begun = Instant::now();
        let mut outcome = Confirmed::default();
        outcome.made_by.insert(self.made_by.to_owned());
        let Drawn { scenario, schedule } = stated.drawn(seed);
        let run = || (self.backend).run(&scenario, seed, &schedule, Keep::default());
        let attempt = attempt(run, self.longest_stall_ns);
        match attempt {
            Ok(attempt) => {
                outcome.discarded = attempt.discarded;
                if let Some(run) = attempt.run {
                    let jitter = self.jitter.during(run.lateness);
                    if let Err(error) = outcome.late.add_late(stated, seed, jitter) {
                        outcome.failure = Some(error.to_string());
                    }
                    let run = JudgedRun::of(run, schedule, &scenario);
                    outcome.real.add(seed, &run.judged());
                    let horizon_ns = ns_from_ms(scenario.horizon_ms);
                    outcome
                        .runs
                        .insert(seed, Sketch::of(&run.judged(), horizon_ns));
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
        result.join(outcome);
        if work.missing[place] > 0 {
            return;
        }
        let (scenario, world) = &self.scenarios[place];
        let begun = work.seeds[place];
        let comparison = Comparison::of(scenario, world, result, self.criteria);
        // A run that failed says nothing about the others; if all did, more would fail.
        let can_go_on = result.failure.is_none() || result.real_runs() > 0;
        if comparison.is_open() && can_go_on && begun < self.runs.most {
            let more = self.runs.most - begun;
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

#[cfg(test)]
mod tests {

    use locklab_vecmap::VecSet;

    use super::*;
    use crate::comparison::{Finding, WITHIN};
    use crate::simulated::Simulated;
    use locklab_check::Property;
    use locklab_model::scenario::{OnRedis, load};
    use locklab_results::Observable;
    use locklab_results::recording::Environment;
    use locklab_runner::backend::World;
    use locklab_runner::run::Lateness;
    use locklab_values::units::NS_PER_MS;
    use std::error::Error;

    /// The simulator in place of real Redis, without faults if `spares`. The first run of every seed
    /// is `late`. All say that messages were late by 2 ms.
    struct SimulatedRedis {
        spares: bool,
        late: Lateness,
        seen: Mutex<VecSet<u64>>,
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
            if lock(&self.seen).insert(seed) {
                run.lateness = self.late;
            }
            run.lateness.message_ns = 2 * NS_PER_MS;
            Ok(run)
        }
    }

    const RUNS: Runs = Runs {
        least: 20,
        most: 60,
    };

    /// What came of this scenario, and its runs.
    fn of(scenario: Scenario, spares: bool, late: Lateness) -> (Comparison, Confirmed) {
        equivalent_within(WITHIN, scenario, spares, late)
    }

    fn equivalent_within(
        within: f64,
        scenario: Scenario,
        spares: bool,
        late: Lateness,
    ) -> (Comparison, Confirmed) {
        let backend = SimulatedRedis {
            spares,
            late,
            seen: Mutex::default(),
        };
        on_backend(&backend, within, scenario)
    }

    fn on_backend(
        backend: &(dyn Backend + Sync),
        within: f64,
        scenario: Scenario,
    ) -> (Comparison, Confirmed) {
        let mut simulation = Simulation::default();
        for seed in 0..100 {
            let Simulation { prompt, twins } = &mut simulation;
            prompt.add(&scenario, seed).expect("it runs");
            twins
                .add_twin(&scenario, seed, Jitter::default())
                .expect("it runs");
        }
        let stop = AtomicBool::new(false);
        let result = Mutex::default();
        let criteria = Criteria::of([&scenario].into_iter(), within);
        let scenarios = [(scenario, simulation)];
        let series = Series {
            backend,
            scenarios: &scenarios,
            runs: RUNS,
            criteria,
            jitter: Jitter::default(),
            longest_stall_ns: LONGEST_STALL_NS,
            made_by: "a test",
            stop: &stop,
            finished: &|_, confirmed| *lock(&result) = confirmed.clone(),
        };
        series.run(0..1, 3);
        let result: Confirmed = lock(&result).clone();
        let (scenario, simulation) = &scenarios[0];
        let comparison = Comparison::of(scenario, simulation, &result, criteria);
        (comparison, result)
    }

    fn k1(spares: bool, late: Lateness) -> (Comparison, Confirmed) {
        of(load("kleppmann/k1", &[]).expect("it ships"), spares, late)
    }

    const PROMPT: Lateness = Lateness {
        longest_ns: 0,
        timer_ns: 0,
        message_ns: 0,
        start_ns: 0,
    };

    #[test]
    fn simulator_is_equivalent_to_itself_at_the_first_look() {
        let (comparison, result) = k1(false, PROMPT);
        assert_eq!(comparison.finding(), Finding::Equivalent);
        assert_eq!((result.real_runs(), result.discarded), (20, 0));
    }

    #[test]
    fn runs_that_stalled_or_began_late_are_discarded_and_not_judged() {
        let (longest_ns, start_ns) = (LONGEST_STALL_NS + 1, LONGEST_STALL_NS + 1);
        for late in [
            Lateness {
                longest_ns,
                ..PROMPT
            },
            Lateness { start_ns, ..PROMPT },
        ] {
            let (comparison, result) = k1(false, late);
            assert_eq!(comparison.finding(), Finding::Equivalent);
            assert_eq!((result.real_runs(), result.discarded), (20, 20));
        }
    }

    #[test]
    fn runs_at_the_limit_count() {
        let late = Lateness {
            longest_ns: LONGEST_STALL_NS,
            start_ns: LONGEST_STALL_NS,
            ..PROMPT
        };
        assert_eq!(k1(false, late).1.discarded, 0);
    }

    #[test]
    fn each_late_run_is_as_late_as_the_machine_was_during_the_real_one() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let mut prompt = Simulated::default();
        prompt.add(&scenario, 0).expect("it runs");
        let (_, result) = k1(false, PROMPT);
        assert_eq!(result.late.runs.len(), 20);
        let [prompt, late] = [&prompt, &result.late].map(|it| it.runs[&0].durations_ns.clone());
        // A request and its reply.
        let grant = Observable::Grant;
        assert_eq!(late[&grant] - prompt[&grant], 2 * 2 * NS_PER_MS);
    }

    #[test]
    fn without_faults_the_rates_differ_and_so_do_the_durations() {
        let (comparison, result) = k1(true, PROMPT);
        // One look only: otherwise chance had two.
        assert_eq!(result.real_runs(), RUNS.most);
        let differs = |finding| finding == Finding::Differ;
        assert!(comparison.rates.iter().any(|row| differs(row.finding)));
        assert!(
            comparison
                .durations
                .iter()
                .any(|row| row.finding.is_some_and(differs))
        );
    }

    #[test]
    fn what_the_first_look_leaves_open_is_looked_at_again() {
        let scenario = || load("kleppmann/k1", &[]).expect("it ships");
        for (within, runs, finding) in [
            (0.2, 20, Finding::Equivalent),
            (0.1, 60, Finding::Equivalent),
            (0.05, 60, Finding::Unclear),
        ] {
            let (comparison, result) = equivalent_within(within, scenario(), false, PROMPT);
            assert_eq!(result.real_runs(), runs, "{within}");
            assert_eq!(comparison.finding(), finding, "{within}");
        }
    }

    #[test]
    fn a_difference_is_explained_only_where_the_scenario_names_it() {
        let mut scenario = load("kleppmann/k1", &[]).expect("it ships");
        scenario
            .expect
            .retain(|property, _| *property == Property::Resource);
        let rate =
            |scenario: &Scenario, spares| of(scenario.clone(), spares, PROMPT).0.rates[0].finding;
        let mut on_redis = OnRedis {
            differs: vec![Property::Resource],
            unbounded: vec![],
            durations: vec![Observable::Takeover],
            why: "a test".into(),
        };
        scenario.on_redis = Some(on_redis.clone());
        assert_eq!(rate(&scenario, true), Finding::Explained);
        assert_eq!(rate(&scenario, false), Finding::Equivalent);
        let (comparison, _) = of(scenario.clone(), true, PROMPT);
        for row in comparison.durations {
            let expected = match row.observable {
                Observable::Takeover => Some(Finding::Explained),
                _ => row.finding.filter(|finding| *finding == Finding::Differ),
            };
            assert_eq!(row.finding, expected);
        }
        on_redis.differs = vec![Property::Belief];
        scenario.on_redis = Some(on_redis);
        assert_eq!(rate(&scenario, true), Finding::Differ);
    }

    /// Real Redis without faults, whose run with seed 0 fails, as on a machine that is busy.
    struct SometimesBusy(SimulatedRedis);

    impl Backend for SometimesBusy {
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
            match seed {
                0 => Err("not ready".into()),
                _ => self.0.run(scenario, seed, schedule, keep),
            }
        }
    }

    #[test]
    fn run_that_failed_does_not_keep_the_others_from_deciding() {
        let backend = SometimesBusy(SimulatedRedis {
            spares: true,
            late: PROMPT,
            seen: Mutex::default(),
        });
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let (comparison, result) = on_backend(&backend, WITHIN, scenario);
        assert_eq!(result.failure.as_deref(), Some("not ready"));
        assert_eq!(result.real_runs(), RUNS.most - 1);
        assert_eq!(comparison.finding(), Finding::Differ);
        assert!(result.made_by.contains("a test"));
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
            Simulation::default(),
        )];
        let stop = AtomicBool::new(false);
        let series = Series {
            backend: &PanickingBackend,
            scenarios: &scenarios,
            runs: Runs { least: 2, most: 2 },
            criteria: Criteria::of([].into_iter(), WITHIN),
            jitter: Jitter::default(),
            longest_stall_ns: LONGEST_STALL_NS,
            made_by: "a test",
            stop: &stop,
            finished: &|_, _| panic!("nothing is finished"),
        };
        // The third thread has nothing to do but wait.
        let ended = catch_unwind(AssertUnwindSafe(|| series.run(0..1, 3)));
        assert!(ended.is_err());
    }
}
