//! Candidates, tried by actual runs. Several threads try several at a time; the first in order that
//! violates the property is chosen, so the result does not depend on the number of threads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use locklab_check::{Property, Verdict, Violation};
use locklab_model::scenario::{Scenario, check};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;

/// A scenario that violates the property, and the run that shows it.
#[derive(Debug, Clone)]
pub struct Best {
    /// The scenario.
    pub scenario: Scenario,
    /// The seed of the run.
    pub seed: u64,
    /// The run.
    pub run: JudgedRun,
}

/// How candidates are tried.
pub(crate) struct Trials<'a> {
    /// The property that has to be violated.
    pub property: Property,
    /// How many other seeds are tried where the present one violates nothing: 0, 1, 2, …
    pub tries: u64,
    /// How many candidates are tried at a time.
    pub threads: usize,
    /// Set it to end the search.
    pub stop: &'a AtomicBool,
    /// Is told how many runs were just made.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// The runs that led to the result: of each list of candidates those up to the chosen one.
    pub runs: u64,
    /// Candidates that did not violate the property.
    failed: BTreeSet<String>,
}

impl<'a> Trials<'a> {
    pub fn new(
        property: Property,
        tries: u64,
        threads: usize,
        stop: &'a AtomicBool,
        progress: &'a (dyn Fn(u64) + Sync),
    ) -> Self {
        Trials {
            property,
            tries,
            threads,
            stop,
            progress,
            runs: 0,
            failed: BTreeSet::new(),
        }
    }

    /// The first of these candidates that violates the property; `None` if none does, or if the
    /// search was ended. A candidate that has failed before is not tried again.
    pub fn first(&mut self, candidates: Vec<Scenario>, seed: u64) -> Option<Best> {
        let mut open: Vec<(String, Scenario)> = Vec::new();
        for candidate in candidates {
            let text = format!("{seed} {}", serde_json::to_string(&candidate).ok()?);
            if !self.failed.contains(&text) && check(&candidate).is_ok() {
                open.push((text, candidate));
            }
        }
        for wave in open.chunks(self.threads.max(1)) {
            let results: Vec<(u64, Option<Best>)> = thread::scope(|scope| {
                let spawned: Vec<_> = wave[1..]
                    .iter()
                    .map(|(_, candidate)| scope.spawn(|| self.try_one(candidate, seed)))
                    .collect();
                let mut results = vec![self.try_one(&wave[0].1, seed)];
                for thread in spawned {
                    // A run that panics is a bug, which is reported above.
                    let joined = thread.join();
                    results.push(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
                results
            });
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            for ((text, _), (runs, best)) in wave.iter().zip(results) {
                self.runs += runs;
                if best.is_some() {
                    return best;
                }
                self.failed.insert(text.clone());
            }
        }
        None
    }

    /// Runs one candidate with this seed, and then with others, until one violates the property.
    fn try_one(&self, candidate: &Scenario, seed: u64) -> (u64, Option<Best>) {
        let others = (0..self.tries).filter(|other| *other != seed);
        let mut runs = 0;
        for seed in [seed].into_iter().chain(others) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            runs += 1;
            (self.progress)(1);
            // A run that never ends is not a smaller counterexample.
            let Ok(run) = judged::run(candidate, seed, Keep::default()) else {
                continue;
            };
            if violation(&run, self.property).is_some() {
                let best = Best {
                    scenario: candidate.clone(),
                    seed,
                    run,
                };
                return (runs, Some(best));
            }
        }
        (runs, None)
    }
}

/// The violation of this property by the run, and of no other.
pub(crate) fn violation(run: &JudgedRun, property: Property) -> Option<&Violation> {
    match run.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}
