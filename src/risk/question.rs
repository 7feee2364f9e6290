//! What is asked, and the answer by cause.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use locklab_model::scenario::Scenario;
use locklab_rare::{RareError, each};
use locklab_runner::RunError;
use locklab_values::random::{Rng, Stream};

use crate::environment::Cause;
use crate::estimate::{Number, Runs};
use crate::grant::{Grants, Outcome};
use crate::setup::{Setup, SetupError};

/// How the runs are made.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Runs for each cause.
    pub runs: u64,
    /// Lengths that are exceeded less often than this are drawn only as often as they happen.
    pub until: f64,
    /// The seed from which the seeds of all runs follow.
    pub seed: u64,
    /// Threads to run on. The answer does not depend on them.
    pub threads: usize,
    /// Once it is set, no further run is made.
    pub stop: &'a AtomicBool,
    /// Is called with the number of runs that were just made.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RiskError {
    /// The lock or the environment is not valid.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A run failed, or the user stopped it.
    #[error(transparent)]
    Runs(#[from] RareError),
}

/// What a cause brings to a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The name of the cause; empty for what goes wrong without any.
    pub cause: String,
    /// Strikes per millisecond, on all hosts together; 1 without a cause.
    pub rate: f64,
    /// Its runs.
    pub runs: Runs,
}

impl Share {
    /// Violations of a property per grant.
    pub fn per_grant(&self, property: usize) -> Number {
        self.runs.per_grant(property, self.rate)
    }
}

/// The answer by cause.
#[derive(Debug, Clone, PartialEq)]
pub struct ByCause {
    /// Without any cause, and then each cause that can strike.
    pub shares: Vec<Share>,
    /// Causes whose hosts this lock does not have.
    pub left_out: Vec<String>,
}

impl ByCause {
    /// Violations of a property per grant, of all causes together.
    pub fn sum(&self, property: usize) -> Number {
        Number::sum(self.shares.iter().map(|share| share.per_grant(property)))
    }
}

/// Estimates what each cause brings to a grant.
///
/// # Errors
///
/// If the lock cannot be set up, or a run fails.
pub fn by_cause(setup: &Setup, effort: Effort<'_>) -> Result<ByCause, RiskError> {
    let scenario = setup.scenario()?;
    let grants = grants(setup, &scenario, effort);
    let (mut shares, mut left_out) = (Vec::new(), Vec::new());
    let undisturbed = runs(effort, "", |seed| grants.undisturbed(seed))?;
    shares.push(Share {
        cause: String::new(),
        rate: 1.0,
        runs: undisturbed,
    });
    for (name, cause) in &setup.environment.cause {
        match rate(&grants, cause) {
            Some(rate) => shares.push(Share {
                cause: name.clone(),
                rate,
                runs: runs(effort, name, |seed| grants.struck(&[cause], seed))?,
            }),
            None => left_out.push(name.clone()),
        }
    }
    Ok(ByCause { shares, left_out })
}

pub(crate) fn grants<'s>(
    setup: &'s Setup,
    scenario: &'s Scenario,
    effort: Effort<'_>,
) -> Grants<'s> {
    Grants {
        setup,
        scenario,
        until: effort.until,
    }
}

/// Strikes of a cause per millisecond, on all its hosts together; `None` if there are none.
pub(crate) fn rate(grants: &Grants<'_>, cause: &Cause) -> Option<f64> {
    let groups = grants.groups(cause);
    (groups > 0).then(|| groups as f64 / cause.every.0)
}

/// Makes the runs of a cause.
pub(crate) fn runs(
    effort: Effort<'_>,
    of: &str,
    one: impl Fn(u64) -> Result<Outcome, RunError> + Sync,
) -> Result<Runs, RareError> {
    let numbers: Range<u64> = 0..effort.runs;
    let made = each(numbers, effort.threads, effort.stop, |number| {
        let seed = Stream::new(effort.seed, &format!("risk/{of}/{number}")).next_u64();
        let outcome = one(seed)?;
        (effort.progress)(1);
        Ok(outcome)
    })?;
    let mut runs = Runs::default();
    made.into_iter().for_each(|outcome| runs.add(outcome));
    Ok(runs)
}
