//! Adaptive multilevel splitting: runs that come nearer to a violation are continued several times.
//!
//! A number of runs is made. Of these the tenth that came least near ends, and each of them is replaced by
//! a copy of one of the others, up to the time at which that one first came nearer than all that ended;
//! from then on the copy draws everything anew. This is repeated until most have come to the
//! target. F. Cérou and A. Guyader, "Adaptive multilevel splitting for rare event analysis" (2007).
//!
//! The estimate has no bias, for any number of runs and any measure of nearness: C.-E. Bréhier, M.
//! Gazeau, L. Goudenège, T. Lelièvre and M. Rousset, "Unbiasedness of some generalized adaptive multilevel
//! splitting algorithms" (2016). Two things are needed for that: runs that are equally near end
//! together, and a run that has ended still counts, with the weight that it had. It may violate the
//! property without having come near.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use locklab_evidence::{REPLICATIONS, Replicated};
use locklab_history::{Name, Schedule};
use locklab_model::fault::{SoFar, redraw};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::batch::Part;
use locklab_runner::judged::run_renewed;
use locklab_runner::{Renewal, RunError};
use locklab_values::random::{Rng, Stream};
use locklab_values::units::ns_from_ms;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use crate::rare::estimators::nearness::{Held, exceeds_at_ns, held, peak_ns};
use crate::rare::estimators::{Question, RareError};

/// One run in so many ends at each level, at least.
const ENDS: usize = 10;

/// Fewer runs than this in an estimate would be copies of too few.
const LEAST_RUNS: u64 = 20;

/// Splitting of the runs of a question, in independent estimates.
pub struct Splitting<'q> {
    question: &'q Question,
    first_runs: u64,
    target_ns: u64,
    stop: &'q AtomicBool,
}

impl<'q> Splitting<'q> {
    /// Prepares it: the first estimates begin with so many runs together, in equal shares. Once `stop` is set, an
    /// estimate that has begun ends without a result.
    ///
    /// The target is the time without a grant or an extension after which no run is split any more: the
    /// lease. Any value gives the right rate; a good one gives it with fewer runs.
    ///
    /// # Errors
    ///
    /// If the lock has no lease.
    pub fn of(
        question: &'q Question,
        runs: u64,
        stop: &'q AtomicBool,
    ) -> Result<Splitting<'q>, RareError> {
        let lease_ms = question.scenario.lock.facts().lease_ms;
        Ok(Splitting {
            question,
            first_runs: (runs / REPLICATIONS).max(LEAST_RUNS),
            target_ns: ns_from_ms(lease_ms.ok_or(RareError::NoLease)?),
            stop,
        })
    }

    /// With how many runs each estimate begins.
    pub fn first_runs(&self) -> u64 {
        self.first_runs
    }

    /// Makes the estimate of this number, and adds it to the others.
    ///
    /// # Errors
    ///
    /// If a run has no result, or it was stopped.
    pub fn add(&self, number: u64, split: &mut Split) -> Result<(), RareError> {
        let seed = self.question.seed_of("split", number);
        let stream = Stream::new(seed, "rare/split");
        let estimate = estimate(self, self.first_runs as usize, self.target_ns, stream)?;
        split.add(&estimate, self.first_runs);
        Ok(())
    }
}

/// What some estimates come to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Their rates.
    pub rates: Replicated,
    /// The runs with which they began.
    pub first_runs: u64,
    /// All runs, copies included.
    pub runs: u64,
    /// Those of them that violate the property.
    pub violated: u64,
    /// Their levels together.
    levels: u64,
}

impl Split {
    fn add(&mut self, estimate: &Estimate, first_runs: u64) {
        self.rates.add(estimate.rate);
        self.first_runs += first_runs;
        self.runs += estimate.runs;
        self.violated += estimate.violated;
        self.levels += estimate.levels;
    }

    /// The mean number of levels of an estimate.
    pub fn levels(&self) -> f64 {
        self.levels as f64 / self.rates.estimates.max(1) as f64
    }
}

impl Part for Split {
    fn join(&mut self, other: Self) {
        self.rates.join(&other.rates);
        self.first_runs += other.first_runs;
        self.runs += other.runs;
        self.violated += other.violated;
        self.levels += other.levels;
    }

    fn why_not(&self, first_runs: u64) -> Option<String> {
        let Split {
            first_runs: own,
            runs,
            violated,
            ..
        } = self;
        match () {
            () if *own != first_runs => Some(format!("it began with {own} runs of {first_runs}")),
            () if own > runs || violated > runs => Some(format!(
                "{violated} of {runs} runs are violated, of which {own} are no copies"
            )),
            () => self.rates.why_not(),
        }
    }
}

/// What is split.
trait Process {
    /// A run from its beginning to its end.
    type Path: Clone;
    /// A run that draws everything.
    fn fresh(&self, seed: u64) -> Result<Self::Path, RunError>;
    /// A copy up to the time at which the path first comes nearer than this level.
    fn branch(&self, path: &Self::Path, level: u64, seed: u64) -> Result<Self::Path, RunError>;
    /// The nearest that it came.
    fn peak(path: &Self::Path) -> u64;
    /// Whether it violates the property.
    fn is_violated(path: &Self::Path) -> bool;
    /// Whether the work is to end without a result.
    fn is_stopped(&self) -> bool;
}

#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    rate: f64,
    /// All runs, copies included.
    runs: u64,
    violated: u64,
    levels: u64,
}

/// One estimate.
fn estimate<P: Process>(
    process: &P,
    first_runs: usize,
    target: u64,
    mut stream: Stream,
) -> Result<Estimate, RareError> {
    // An estimate without some of its runs would have a bias.
    let go_on = || match process.is_stopped() {
        true => Err(RareError::Stopped),
        false => Ok(()),
    };
    let fresh = (0..first_runs).map(|_| {
        go_on()?;
        Ok(process.fresh(stream.next_u64())?)
    });
    let mut paths = fresh.collect::<Result<Vec<P::Path>, RareError>>()?;
    let mut estimate = Estimate {
        runs: first_runs as u64,
        ..Estimate::default()
    };
    // What each of the runs stands for.
    let mut weight = 1.0 / first_runs as f64;
    loop {
        let mut peaks: Vec<u64> = paths.iter().map(P::peak).collect();
        peaks.sort_unstable();
        let level = peaks[(first_runs / ENDS).max(1) - 1];
        if level >= target {
            break;
        }
        let (near, ended): (Vec<_>, Vec<_>) = paths.into_iter().partition(|it| P::peak(it) > level);
        estimate.count::<P>(&ended, weight);
        let copied = near.len();
        paths = near;
        if copied == 0 {
            break;
        }
        weight *= copied as f64 / first_runs as f64;
        for _ in 0..ended.len() {
            go_on()?;
            let parent = stream.below(copied as u64) as usize;
            let copy = process.branch(&paths[parent], level, stream.next_u64())?;
            paths.push(copy);
        }
        estimate.runs += ended.len() as u64;
        estimate.levels += 1;
    }
    estimate.count::<P>(&paths, weight);
    Ok(estimate)
}

impl Estimate {
    fn count<P: Process>(&mut self, paths: &[P::Path], weight: f64) {
        let violated = paths.iter().filter(|it| P::is_violated(it)).count();
        self.violated += violated as u64;
        self.rate += weight * violated as f64;
    }
}

/// A run, and what it takes to make it again up to some time.
#[derive(Clone)]
struct Path {
    scenario: Arc<Scenario>,
    seed: u64,
    renewals: Vec<Renewal>,
    schedule: Schedule,
    began_ns: VecMap<Name, u64>,
    held: Vec<Held>,
    is_violated: bool,
}

impl Splitting<'_> {
    fn path(
        &self,
        scenario: Arc<Scenario>,
        seed: u64,
        renewals: Vec<Renewal>,
        schedule: Schedule,
    ) -> Result<Path, RunError> {
        let run = run_renewed(&scenario, seed, &renewals, schedule)?;
        let began_ns = run.history.faults_began_ns().into_iter();
        Ok(Path {
            scenario,
            seed,
            renewals,
            began_ns: began_ns.map(|(name, at_ns)| (name.into(), at_ns)).collect(),
            held: held(&run.history),
            is_violated: self.question.is_violated(&run),
            schedule: run.schedule,
        })
    }
}

impl Process for Splitting<'_> {
    type Path = Path;

    fn fresh(&self, seed: u64) -> Result<Path, RunError> {
        let Drawn { scenario, schedule } = self.question.scenario.drawn(seed);
        self.path(Arc::new(scenario.into_owned()), seed, vec![], schedule)
    }

    fn branch(&self, path: &Path, level_ns: u64, seed: u64) -> Result<Path, RunError> {
        let at_ns = exceeds_at_ns(&path.held, level_ns).unwrap_or(u64::MAX);
        let began_ns = { path.began_ns.iter() }.map(|(name, at_ns)| (&**name, *at_ns));
        let so_far = SoFar {
            schedule: &path.schedule,
            now_ns: at_ns,
            began_ns: &began_ns.collect(),
        };
        let schedule = redraw(&path.scenario.fault, so_far, seed);
        let before = { path.renewals.iter() }.take_while(|it| it.at_ns < at_ns);
        let renewals = before.copied().chain([Renewal { at_ns, seed }]);
        let scenario = Arc::clone(&path.scenario);
        self.path(scenario, path.seed, renewals.collect(), schedule)
    }

    fn peak(path: &Path) -> u64 {
        peak_ns(&path.held)
    }

    fn is_violated(path: &Path) -> bool {
        path.is_violated
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use locklab_values::dist::Dist;

    use super::*;

    /// A sum of exponential jumps with mean 1 ms, which ends after each with probability 1/4. So it is
    /// exponential with mean 4 ms. A path of more than 40 ms is a violation: e^-10 of them.
    struct Jumps;

    const FAR_NS: u64 = 40_000_000;

    impl Jumps {
        fn go_on(mut path: Vec<u64>, seed: u64) -> Vec<u64> {
            let mut stream = Stream::new(seed, "jumps");
            while !stream.chance(0.25) {
                path.push(Dist::Exponential(1.0).sample_ns(&mut stream));
            }
            path
        }
    }

    impl Process for Jumps {
        type Path = Vec<u64>;

        fn fresh(&self, seed: u64) -> Result<Vec<u64>, RunError> {
            let first_ns = Dist::Exponential(1.0).sample_ns(&mut Stream::new(seed, "first"));
            Ok(Self::go_on(vec![first_ns], seed))
        }

        fn branch(&self, path: &Vec<u64>, level: u64, seed: u64) -> Result<Vec<u64>, RunError> {
            let mut sum = 0;
            let before = path.iter().take_while(|jump| {
                let goes_on = sum <= level;
                sum += **jump;
                goes_on
            });
            Ok(Self::go_on(before.copied().collect(), seed))
        }

        fn peak(path: &Vec<u64>) -> u64 {
            path.iter().sum()
        }

        fn is_violated(path: &Vec<u64>) -> bool {
            Self::peak(path) > FAR_NS
        }

        fn is_stopped(&self) -> bool {
            false
        }
    }

    /// Of 100 results with intervals at 95 %, about five miss.
    #[test]
    fn intervals_contain_a_known_rate_as_often_as_they_say() {
        // Without `LOCKLAB_LONG=1` fewer.
        let times: u64 = match std::env::var_os("LOCKLAB_LONG") {
            Some(_) => 100,
            None => 40,
        };
        let expected = (-10_f64).exp();
        let (mut contain, mut sum) = (0, 0.0);
        for nth in 0..times {
            let mut all = Replicated::default();
            for replication in 0..REPLICATIONS {
                let stream = Stream::new(nth, &format!("jumps/{replication}"));
                all.add(estimate(&Jumps, 40, FAR_NS, stream).expect("it ends").rate);
            }
            let (rate, interval) = (all.rate(), all.interval());
            sum += rate / expected;
            contain +=
                u32::from(interval.is_some_and(|it| it.low < expected && expected < it.high));
        }
        // 25 estimates each, with a deviation of about 0.6.
        let times = times as f64;
        let error = 0.4 / times.sqrt();
        assert!((sum / times - 1.0).abs() < error, "{sum}");
        let share = f64::from(contain) / times;
        assert!((0.87..0.995).contains(&share), "{contain}");
    }

    /// Whatever the target is, the rate is the same: what has ended counts too.
    #[test]
    fn violations_that_came_less_near_count() {
        let expected = (-10_f64 / 4.0).exp();
        struct Near;
        impl Process for Near {
            type Path = Vec<u64>;
            fn fresh(&self, seed: u64) -> Result<Vec<u64>, RunError> {
                Jumps.fresh(seed)
            }
            fn branch(&self, path: &Vec<u64>, level: u64, seed: u64) -> Result<Vec<u64>, RunError> {
                Jumps.branch(path, level, seed)
            }
            fn peak(path: &Vec<u64>) -> u64 {
                Jumps::peak(path)
            }
            fn is_violated(path: &Vec<u64>) -> bool {
                Jumps::peak(path) > FAR_NS / 4
            }
            fn is_stopped(&self) -> bool {
                false
            }
        }
        let rates = (0..2000).map(|nth| {
            let estimate = estimate(&Near, 50, FAR_NS / 2, Stream::new(nth, "near"));
            estimate.expect("it ends").rate
        });
        let mean = rates.sum::<f64>() / 2000.0;
        assert!((mean / expected - 1.0).abs() < 0.03, "{mean}, {expected}");
    }

    /// What is stopped within an estimate has none: that of some of its runs would have a bias.
    #[test]
    fn a_stopped_estimate_has_no_result() {
        /// Is stopped after so many questions whether it is.
        struct Stopped(std::cell::Cell<u64>);
        impl Process for Stopped {
            type Path = Vec<u64>;
            fn fresh(&self, seed: u64) -> Result<Vec<u64>, RunError> {
                Jumps.fresh(seed)
            }
            fn branch(&self, path: &Vec<u64>, level: u64, seed: u64) -> Result<Vec<u64>, RunError> {
                Jumps.branch(path, level, seed)
            }
            fn peak(path: &Vec<u64>) -> u64 {
                Jumps::peak(path)
            }
            fn is_violated(path: &Vec<u64>) -> bool {
                Jumps::is_violated(path)
            }
            fn is_stopped(&self) -> bool {
                let left = self.0.get();
                self.0.set(left.saturating_sub(1));
                left == 0
            }
        }
        let after = |questions: u64| {
            let process = Stopped(questions.into());
            estimate(&process, 40, FAR_NS, Stream::new(0, "stopped"))
        };
        // Among the first runs, and among copies.
        for questions in [0, 39, 60] {
            let stopped = after(questions);
            assert!(matches!(stopped, Err(RareError::Stopped)), "{stopped:?}");
        }
        let whole = after(1_000_000).expect("it ends");
        assert!(whole.runs > 100, "{whole:?}");
    }

    #[test]
    fn estimates_that_cannot_be_of_so_many_runs_are_refused() {
        let mut split = Split::default();
        for number in 0..3 {
            let stream = Stream::new(number, "split");
            split.add(&estimate(&Jumps, 40, FAR_NS, stream).expect("it ends"), 40);
        }
        assert_eq!(split.why_not(120), None);
        assert!(split.why_not(80).is_some());
        split.violated = split.runs + 1;
        assert!(split.why_not(120).is_some());
    }
}
