//! Candidates, tried by actual runs. Several threads try several at a time; the first in order that
//! violates the property is chosen, so the result does not depend on the number of threads.

use std::sync::atomic::{AtomicBool, Ordering};

use locklab_check::{Property, Verdict, Violation};
use locklab_model::scenario::{Scenario, check};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool;
use locklab_runner::simulate::Keep;
use locklab_vecmap::VecSet;

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

/// How to shrink.
pub struct Options<'a> {
    /// The property that stays violated.
    pub property: Property,
    /// How many seeds (0, 1, 2, …) are tried beside the present one for each candidate.
    pub tries: u64,
    /// How many candidates are tried at a time. The result does not depend on it.
    pub threads: usize,
    /// Set it to end the search; the best so far is the result.
    pub stop: &'a AtomicBool,
    /// What a run that violates the property has to satisfy besides. `|_| true` asks for nothing.
    pub accepts: &'a (dyn Fn(&Best) -> bool + Sync),
    /// Is told how many runs were just made.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// The candidates that are tried.
pub(crate) struct Trials<'a> {
    /// The property that has to be violated.
    pub property: Property,
    options: &'a Options<'a>,
    /// The runs that led to the result: of each list of candidates those up to the chosen one.
    pub runs: u64,
    /// Candidates that did not violate the property.
    failed: VecSet<String>,
}

impl<'a> Trials<'a> {
    pub fn new(options: &'a Options<'a>) -> Self {
        Trials {
            property: options.property,
            options,
            runs: 0,
            failed: VecSet::new(),
        }
    }

    /// The first of these candidates that violates the property, with at least `certainty` of the
    /// seeds that are tried; `None` if none does, or if the search was ended. A candidate that has
    /// failed before is not tried again.
    pub fn first(&mut self, candidates: Vec<Scenario>, seed: u64, certainty: u64) -> Option<Best> {
        let mut open: Vec<(String, Scenario)> = Vec::new();
        for candidate in candidates {
            let text = format!("{seed} {certainty} {}", candidate.to_json());
            if !self.failed.contains(&text) && check(&candidate).is_ok() {
                open.push((text, candidate));
            }
        }
        for wave in open.chunks(self.options.threads.max(1)) {
            // A run that panics is a bug, which is reported above.
            let results = pool::each(wave, self.options.threads, |(_, candidate)| {
                self.try_one(candidate, seed, certainty)
            });
            if self.options.stop.load(Ordering::Relaxed) {
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

    /// With how many of the seeds that are tried a scenario violates the property.
    pub fn certainty(&mut self, best: &Best) -> u64 {
        let seeds =
            (0..self.options.tries).take_while(|_| !self.options.stop.load(Ordering::Relaxed));
        let violating = seeds.filter(|seed| self.run(&best.scenario, *seed).is_some());
        let violating = violating.count() as u64;
        self.runs += self.options.tries;
        violating
    }

    /// Runs one candidate with this seed, and then with others, until it is clear whether it violates
    /// the property as often as it has to.
    fn try_one(&self, candidate: &Scenario, seed: u64, certainty: u64) -> (u64, Option<Best>) {
        let others = (0..self.options.tries).filter(|other| *other != seed);
        let (mut runs, mut violating, mut others_left) = (0, 0, self.options.tries);
        let mut best = None;
        for seed in [seed].into_iter().chain(others) {
            if self.options.stop.load(Ordering::Relaxed) {
                return (runs, None);
            }
            runs += 1;
            let found = self.run(candidate, seed);
            if seed < self.options.tries {
                others_left -= 1;
                violating += u64::from(found.is_some());
            }
            best = best.or(found);
            if violating + others_left < certainty {
                return (runs, None);
            }
            if best.is_some() && violating >= certainty {
                break;
            }
        }
        (runs, best)
    }

    /// Runs a scenario with this seed; `None` if it does not violate the property, or is not
    /// accepted.
    fn run(&self, scenario: &Scenario, seed: u64) -> Option<Best> {
        (self.options.progress)(1);
        // A run that never ends is not a counterexample.
        let run = judged::run(scenario, seed, Keep::default()).ok()?;
        violation(&run, self.property)?;
        let best = Best {
            scenario: scenario.clone(),
            seed,
            run,
        };
        (self.options.accepts)(&best).then_some(best)
    }
}

/// The violation of this property by the run, and of no other.
pub(crate) fn violation(run: &JudgedRun, property: Property) -> Option<&Violation> {
    match run.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}
