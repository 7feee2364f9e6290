//! The runs of one cause in one setup: what is run, how often, and with which seeds.

use std::ops::Range;
use std::sync::Arc;

use locklab_runner::RunError;
use locklab_values::random::{Rng, Stream};
use serde::Serialize;

use crate::risk::model::attempts::Attempts;
use crate::risk::model::environment::Cause;
use crate::risk::model::estimate::Runs;
use crate::risk::model::grant::Grants;
use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;
use crate::risk::model::together::Together;

/// How many runs are made, and how they are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sampling {
    /// Runs for each cause.
    pub runs: u64,
    /// Lengths that are exceeded less often than this are drawn only as often as they happen.
    pub until: f64,
    /// The seed from which the seeds of all runs follow.
    pub seed: u64,
}

/// The runs of one cause in one setup. Serialised, it is everything that their results depend on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    grants: Arc<Grants>,
    of: Of,
    sampling: Sampling,
}

/// What strikes in the runs of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) enum Of {
    /// Nothing.
    Nothing,
    /// This cause, which has a name, once.
    Cause(String, Box<Cause>),
    /// All causes, each a random number of times.
    Together(Together),
}

impl Of {
    /// The name of its random streams.
    fn name(&self) -> &str {
        match self {
            Of::Nothing => "",
            Of::Cause(name, _) => name,
            Of::Together(_) => "whole",
        }
    }
}

impl Series {
    pub(crate) fn new(grants: &Arc<Grants>, of: Of, sampling: Sampling) -> Series {
        Series {
            grants: grants.clone(),
            of,
            sampling,
        }
    }

    /// The numbers of its runs.
    pub fn numbers(&self) -> Range<u64> {
        0..self.sampling.runs
    }

    /// Makes the run of this number, and adds it to the others.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    pub fn add(&self, number: u64, runs: &mut Runs) -> Result<(), RunError> {
        let seed = self.seed_of(number);
        let outcome = match &self.of {
            Of::Nothing => self.grants.undisturbed(seed),
            Of::Cause(_, cause) => self.grants.struck(&[cause], seed),
            Of::Together(together) => together.run(&self.grants, seed),
        };
        runs.add(outcome?);
        Ok(())
    }

    /// The seed of a run. Setups share the seeds of a cause, so that less of a difference is chance.
    pub(crate) fn seed_of(&self, number: u64) -> u64 {
        let name = format!("risk/{}/{number}", self.of.name());
        Stream::new(self.sampling.seed, &name).next_u64()
    }

    /// The lock and the cause, for messages.
    pub fn title(&self) -> String {
        let Setup { lock, lease, .. } = &self.grants.setup;
        let of = match &self.of {
            Of::Nothing => "no cause",
            Of::Cause(name, _) => name,
            Of::Together(_) => "all causes",
        };
        format!("{lock}, lease {lease}, {of}")
    }
}

/// Prepares the grants of a setup.
pub(crate) fn grants(setup: &Setup, sampling: Sampling) -> Result<Arc<Grants>, SetupError> {
    Ok(Arc::new(Grants {
        scenario: setup.scenario()?,
        attempts: Attempts::of(setup)?,
        setup: setup.clone(),
        until: sampling.until,
    }))
}
