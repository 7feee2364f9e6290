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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locklab_evidence::{Interval, REPLICATIONS, replicated};
use locklab_history::{Name, Schedule};
use locklab_model::fault::{SoFar, redraw};
use locklab_model::scenario::{Drawn, Scenario};
use locklab_runner::judged::run_renewed;
use locklab_runner::{Renewal, RunError};
use locklab_values::random::{Rng, Stream};

use crate::importance::{Held, exceeds_at_ns, held, peak_ns};
use crate::{Question, RareError};

/// One run in so many ends at each level, at least.
const ENDS: usize = 10;

/// Fewer runs than this in an estimate would be copies of too few.
const LEAST_RUNS: u64 = 20;

/// What splitting comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The mean of the estimates.
    pub rate: f64,
    /// Its 95 % interval; `None` if the estimates are too uneven.
    pub interval: Option<Interval>,
    /// With how many runs each of the 25 estimates began.
    pub first_runs: u64,
    /// All runs, copies included.
    pub runs: u64,
    /// Those of them that violate the property.
    pub violated: u64,
    /// The mean number of levels of an estimate.
    pub levels: f64,
}

/// Makes 25 independent estimates, which begin with the runs of the question in equal shares.
///
/// `target_ns` is the time without a grant or an extension after which no run is split any more: the
/// lease. Any value gives the right rate; a good one gives it with fewer runs.
///
/// # Errors
///
/// If a run fails.
pub fn split(question: &Question<'_>, target_ns: u64) -> Result<Split, RareError> {
    let first_runs = (question.runs / REPLICATIONS as u64).max(LEAST_RUNS);
    let runs = AtomicU64::new(0);
    let process = Simulator {
        question,
        runs: &runs,
    };
    let one = |number| -> Result<Estimate, RunError> {
        let stream = Stream::new(question.seed_of("split", number), "rare/split");
        estimate(&process, first_runs as usize, target_ns, stream)
    };
    let estimates = question.each(0..REPLICATIONS as u64, one)?;
    let mut rates = [0.0; REPLICATIONS];
    for (rate, estimate) in rates.iter_mut().zip(&estimates) {
        *rate = estimate.rate;
    }
    let (rate, interval) = replicated(&rates);
    let levels: u64 = estimates.iter().map(|it| it.levels).sum();
    Ok(Split {
        rate,
        interval,
        first_runs,
        runs: runs.into_inner(),
        violated: estimates.iter().map(|it| it.violated).sum(),
        levels: levels as f64 / REPLICATIONS as f64,
    })
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
    violated: u64,
    levels: u64,
}

/// One estimate.
fn estimate<P: Process>(
    process: &P,
    first_runs: usize,
    target: u64,
    mut stream: Stream,
) -> Result<Estimate, RunError> {
    let fresh = (0..first_runs).map(|_| process.fresh(stream.next_u64()));
    let mut paths = fresh.collect::<Result<Vec<P::Path>, RunError>>()?;
    let mut estimate = Estimate::default();
    // What each of the runs stands for.
    let mut weight = 1.0 / first_runs as f64;
    while !process.is_stopped() {
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
            let parent = stream.below(copied as u64) as usize;
            let copy = process.branch(&paths[parent], level, stream.next_u64())?;
            paths.push(copy);
        }
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

/// The runs of a question.
struct Simulator<'q> {
    question: &'q Question<'q>,
    /// How many have been made.
    runs: &'q AtomicU64,
}

/// A run, and what it takes to make it again up to some time.
#[derive(Clone)]
struct Path {
    scenario: Arc<Scenario>,
    seed: u64,
    renewals: Vec<Renewal>,
    schedule: Schedule,
    began_ns: BTreeMap<Name, u64>,
    held: Vec<Held>,
    is_violated: bool,
}

impl Simulator<'_> {
    fn path(
        &self,
        scenario: Arc<Scenario>,
        seed: u64,
        renewals: Vec<Renewal>,
        schedule: Schedule,
    ) -> Result<Path, RunError> {
        let run = run_renewed(&scenario, seed, &renewals, schedule)?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        (self.question.progress)(1);
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

impl Process for Simulator<'_> {
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
        self.question.stop.load(Ordering::Relaxed)
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
        let expected = (-10_f64).exp();
        let (mut contain, mut sum) = (0, 0.0);
        for nth in 0..100 {
            let rates: [f64; REPLICATIONS] = std::array::from_fn(|replication| {
                let stream = Stream::new(nth, &format!("jumps/{replication}"));
                estimate(&Jumps, 40, FAR_NS, stream).expect("it ends").rate
            });
            let (rate, interval) = replicated(&rates);
            sum += rate / expected;
            contain +=
                u32::from(interval.is_some_and(|it| it.low < expected && expected < it.high));
        }
        // 2500 estimates, each with a deviation of about 0.6.
        assert!((sum / 100.0 - 1.0).abs() < 0.04, "{sum}");
        assert!((87..=99).contains(&contain), "{contain}");
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
}
