//! All causes of an environment together, which may interact: a crash while a client pauses.

use serde::Serialize;

use crate::risk::model::estimate::{Number, Runs};
use crate::risk::model::question::{ByCause, Causes};
use crate::risk::model::series::{Of, Sampling, Series, grants};
use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;
use crate::risk::model::together::{Together, here};

/// So many times the runs of a single cause, since each cause strikes in a part of the runs only.
const RUNS: u64 = 4;

/// The series in which all causes strike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whole(Series);

impl Whole {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn plan(setup: &Setup, causes: &Causes, sampling: Sampling) -> Result<Whole, SetupError> {
        let strikes = causes.strikes().iter();
        let causes = strikes.filter_map(|(name, rate)| {
            let cause = setup.environment.cause.get(name)?;
            Some((cause.clone(), *rate))
        });
        let of = Of::Together(Together {
            causes: causes.collect(),
        });
        let sampling = Sampling {
            runs: sampling.runs * RUNS,
            ..sampling
        };
        Ok(Whole(Series::new(&grants(setup, sampling)?, of, sampling)))
    }

    /// The series.
    pub fn series(&self) -> &Series {
        &self.0
    }

    /// Violations per grant, by the properties of [`PROPERTIES`](crate::risk::model::PROPERTIES), from the runs of the
    /// series. `by_cause` says how often each cause strikes on average.
    pub fn answer(&self, by_cause: &ByCause, made: &Runs) -> [Number; 2] {
        let causes = by_cause.shares.iter().filter(|it| !it.cause.is_empty());
        let there: Vec<f64> = causes
            .map(|share| share.rate * share.runs.exposure_ms())
            .collect();
        let here = here(there.len());
        let factor = libm::exp(there.iter().map(|there| here - there).sum());
        [0, 1].map(|property| made.per_grant(property, factor))
    }
}
