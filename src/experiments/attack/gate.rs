//! How many runs of foreign programs there are at once: as many as the machine can bear.
//!
//! Most of a run is waiting, but what the programs themselves need is not known. So few runs begin; each that was on
//! time lets one more begin, and each that was late halves their number.

use std::error::Error;
use std::sync::{Condvar, Mutex, PoisonError};

use locklab_history::Schedule;
use locklab_model::scenario::Scenario;
use locklab_real::ConfirmError;
use locklab_results::recording::Environment;
use locklab_runner::backend::Backend;
use locklab_runner::pool::lock;
use locklab_runner::run::Run;
use locklab_runner::simulate::Keep;

/// Real servers, with a limit for the number of runs.
pub(crate) struct Gated<'a, B> {
    backend: &'a B,
    /// The latest that a run may be, in nanoseconds.
    longest_stall_ns: u64,
    /// The most runs at once.
    most: usize,
    runs: Mutex<Runs>,
    ended: Condvar,
}

struct Runs {
    /// So many may be under way.
    allowed: usize,
    under_way: usize,
}

impl<'a, B> Gated<'a, B> {
    /// At most so many runs at once. One that is later than this counts as late.
    pub(crate) fn new(backend: &'a B, most: usize, longest_stall_ns: u64) -> Self {
        Self {
            backend,
            longest_stall_ns,
            most,
            runs: Mutex::new(Runs {
                allowed: most.div_ceil(4),
                under_way: 0,
            }),
            ended: Condvar::new(),
        }
    }

    /// Waits until one more run may begin. Returns whether it is alone then, and stays so.
    fn begin(&self) -> bool {
        let mut runs = lock(&self.runs);
        while runs.under_way >= runs.allowed {
            // No run panics while it changes the numbers.
            runs = (self.ended.wait(runs)).unwrap_or_else(PoisonError::into_inner);
        }
        runs.under_way += 1;
        runs.allowed == 1
    }

    fn end(&self, how: Course) {
        let mut runs = lock(&self.runs);
        runs.under_way -= 1;
        runs.allowed = match how {
            Course::OnTime => (runs.allowed + 1).min(self.most),
            Course::Late => (runs.allowed / 2).max(1),
            Course::Starved => 1,
        };
        self.ended.notify_all();
    }
}

/// How a run went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    OnTime,
    Late,
    /// It showed nothing, or did not even begin.
    Starved,
}

impl<B: Backend> Backend for Gated<'_, B> {
    fn environment(&self) -> Environment {
        self.backend.environment()
    }

    fn usual_seeds(&self, scenario: &Scenario) -> u64 {
        self.backend.usual_seeds(scenario)
    }

    /// A run beside others that shows nothing, or does not even begin, is made again.
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        schedule: &Schedule,
        keep: Keep,
    ) -> Result<Run, Box<dyn Error + Send + Sync>> {
        loop {
            let is_alone = self.begin();
            let run = self.backend.run(scenario, seed, schedule, keep);
            let how = match &run {
                Err(error) if is_of_a_busy_machine(error.as_ref()) => Course::Starved,
                Ok(run) if run.lateness.worst_ns() > self.longest_stall_ns => Course::Late,
                _ => Course::OnTime,
            };
            self.end(how);
            if is_alone || how != Course::Starved {
                return run;
            }
        }
    }
}

fn is_of_a_busy_machine(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<ConfirmError>();
    matches!(
        error,
        Some(ConfirmError::NotReady { .. } | ConfirmError::Mute { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_runner::run::Lateness;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Runs that are late, and show nothing, if more than this are under way.
    struct Machine {
        bears: usize,
        under_way: AtomicUsize,
        most: AtomicUsize,
        late: AtomicUsize,
    }

    impl Machine {
        fn that_bears(bears: usize) -> Machine {
            Machine {
                bears,
                under_way: AtomicUsize::new(0),
                most: AtomicUsize::new(0),
                late: AtomicUsize::new(0),
            }
        }
    }

    impl Backend for Machine {
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
            let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            for _ in 0..200 {
                std::thread::yield_now();
            }
            let is_late = self.under_way.fetch_sub(1, Ordering::SeqCst) > self.bears;
            self.late.fetch_add(usize::from(is_late), Ordering::SeqCst);
            match is_late && seed.is_multiple_of(2) {
                true => Err(ConfirmError::Mute {
                    why: String::new(),
                    notes: vec![],
                }
                .into()),
                false => Ok(Run {
                    lateness: Lateness {
                        longest_ns: u64::from(is_late),
                        ..Lateness::default()
                    },
                    ..Run::default()
                }),
            }
        }
    }

    fn runs(bears: usize, most: usize) -> (usize, usize) {
        let machine = Machine::that_bears(bears);
        let gated = Gated::new(&machine, most, 0);
        let scenario = locklab_model::scenario::load("kleppmann/k1", &[]).expect("it ships");
        std::thread::scope(|scope| {
            for thread in 0..most {
                let (gated, scenario) = (&gated, &scenario);
                scope.spawn(move || {
                    for seed in 0..5 {
                        let schedule = &Schedule::default();
                        let run =
                            gated.run(scenario, seed + thread as u64, schedule, Keep::default());
                        assert!(run.is_ok());
                    }
                });
            }
        });
        (machine.most.into_inner(), machine.late.into_inner())
    }

    #[test]
    fn no_run_fails_because_of_the_others() {
        let (most, _) = runs(1, 8);
        assert!((1..=8).contains(&most));
        let (most, late) = runs(8, 8);
        assert!(most <= 8 && late == 0, "{most}, {late}");
    }

    #[test]
    fn what_shows_nothing_alone_shows_nothing() {
        for (most, tried) in [(1, 1), (8, 2)] {
            let machine = Machine::that_bears(0);
            let gated = Gated::new(&machine, most, 0);
            let scenario = locklab_model::scenario::load("kleppmann/k1", &[]).expect("it ships");
            let run = gated.run(&scenario, 0, &Schedule::default(), Keep::default());
            assert!(run.is_err());
            assert_eq!(machine.late.into_inner(), tried, "{most} at once");
        }
    }
}
