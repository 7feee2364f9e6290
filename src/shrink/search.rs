//! The search for the smallest scenario: edits in a fixed order, until none of them helps.

use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::edit::{self, Edit, REDUCTIONS, REFINEMENTS};
use crate::trial::{Best, Options, Trials, violation};
use crate::{Size, Subject};
use locklab_check::{Property, Verdict};
use locklab_model::scenario::Scenario;
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};
use locklab_values::units::ms_from_ns;

/// The smallest scenario that was found.
#[derive(Debug, Clone)]
pub struct Minimum {
    /// The scenario, its seed, and its run.
    pub best: Best,
    /// The size of what was shrunk.
    pub before: Size,
    /// The size of the result.
    pub after: Size,
    /// What it took.
    pub statistics: Statistics,
}

/// What shrinking took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Runs that led to the result; the same on any number of threads.
    pub runs: u64,
    /// How often the scenario became smaller.
    pub steps: u64,
    /// Whether no edit is left that would make it smaller; otherwise the search was ended.
    pub is_minimal: bool,
}

/// Why there is nothing to shrink.
#[derive(Debug, thiserror::Error)]
pub enum NotViolated {
    /// The run does not violate the property.
    #[error("the run does not violate {property}: {}", said(.verdict.as_ref()))]
    Other {
        /// The property.
        property: Property,
        /// What the run says of it; `None` if it is not judged.
        verdict: Option<Verdict>,
    },
    /// The run violates the property, and is not accepted.
    #[error("the run violates {0}, and not as it has to")]
    NotAccepted(Property),
    /// The run cannot be repeated.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn said(verdict: Option<&Verdict>) -> String {
    match verdict {
        Some(Verdict::Holds) => "it holds".into(),
        Some(Verdict::Inconclusive { why }) => format!("inconclusive, {why}"),
        Some(Verdict::Violated(violation)) => violation.what.clone(),
        None => "runs of this scenario are not judged by it".into(),
    }
}

/// Makes the scenario of a run as small as it gets while the same property stays violated, by a run that
/// is accepted.
///
/// # Errors
///
/// If the run does not violate the property, or is not accepted.
pub fn shrink(subject: &Subject, options: &Options<'_>) -> Result<Minimum, NotViolated> {
    let scenario = subject.pinned();
    let run = judged::run(&scenario, subject.seed, Keep::default())?;
    let property = options.property;
    if violation(&run, property).is_none() {
        return Err(NotViolated::Other {
            property,
            verdict: run.verdicts.get(&property).cloned(),
        });
    }
    let before = Size::of(&scenario);
    let best = Best {
        scenario,
        seed: subject.seed,
        run,
    };
    if !(options.accepts)(&best) {
        return Err(NotViolated::NotAccepted(property));
    }
    let mut search = Search {
        trials: Trials::new(options),
        best,
        steps: 0,
    };
    search.shorten();
    while search.round() {
        search.shorten();
    }
    search.finish();
    let Search {
        trials,
        best,
        steps,
    } = search;
    Ok(Minimum {
        before,
        after: Size::of(&best.scenario),
        best,
        statistics: Statistics {
            runs: trials.runs,
            steps,
            is_minimal: !options.stop.load(Ordering::Relaxed),
        },
    })
}

struct Search<'a> {
    trials: Trials<'a>,
    best: Best,
    steps: u64,
}

impl Search<'_> {
    /// Applies every edit as often as it helps; returns whether one did.
    fn round(&mut self) -> bool {
        let before = self.steps;
        for edit in REDUCTIONS {
            while self.step(*edit, 0) {}
        }
        let certainty = self.trials.certainty(&self.best);
        for edit in REFINEMENTS {
            while self.step(*edit, certainty) {}
        }
        self.steps > before
    }

    /// Replaces the best scenario by the first candidate of this edit that is smaller and violates
    /// the property, with at least so many of the seeds that are tried.
    fn step(&mut self, edit: Edit, certainty: u64) -> bool {
        let size = Size::of(&self.best.scenario);
        let mut candidates = edit(&self.best, self.trials.property);
        candidates.retain(|candidate| Size::of(candidate) < size);
        self.take(candidates, certainty)
    }

    fn take(&mut self, candidates: Vec<Scenario>, certainty: u64) -> bool {
        let found = self.trials.first(candidates, self.best.seed, certainty);
        let is_found = found.is_some();
        if let Some(found) = found {
            self.best = found;
            self.steps += 1;
        }
        is_found
    }

    /// Ends the run some time after its violation, so that the next ones take less time.
    fn shorten(&mut self) {
        let Some(violation) = violation(&self.best.run, self.trials.property) else {
            return;
        };
        let over_ms = ms_from_ns(violation.until_ns);
        let horizon_ms = over_ms + over_ms / 4 + SLACK_MS;
        if horizon_ms < self.best.scenario.horizon_ms {
            let mut scenario = self.best.scenario.clone();
            scenario.horizon_ms = horizon_ms;
            self.take(vec![scenario], 0);
        }
    }

    /// Gives back what was shortened for speed, and names the faults after what they do.
    fn finish(&mut self) {
        self.take(edit::horizon::usual(&self.best.scenario), 0);
        self.take(edit::faults::named(&self.best.scenario), 0);
    }
}

/// How long a run may go on after the violation, in milliseconds, beside a quarter of the time until
/// then: with another seed it may come later.
const SLACK_MS: u64 = 1000;
