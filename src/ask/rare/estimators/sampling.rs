//! Importance sampling: runs whose faults often last longer than in the scenario, each weighed by how much
//! likelier it is there.
//!
//! The faults of a run are drawn before it begins, each number independently of all that is drawn within
//! the run. So the ratio of the densities of their lengths is that of the whole runs, and the mean of the
//! weights of violating runs is the rate, without bias.

use locklab_evidence::Weighted;
use locklab_runner::RunError;
use locklab_runner::judged::{self, run_schedule};
use locklab_runner::simulate::Keep;

use crate::rare::estimators::{Lengths, Question, RareError};

/// Importance sampling of the runs of a question.
pub struct Sampling<'q> {
    question: &'q Question,
    lengths: Lengths<'q>,
}

impl<'q> Sampling<'q> {
    /// Prepares it.
    ///
    /// # Errors
    ///
    /// If no length is random.
    pub fn of(question: &'q Question) -> Result<Sampling<'q>, RareError> {
        let lengths = Lengths::of(&question.scenario).ok_or(RareError::NothingRandom)?;
        Ok(Sampling { question, lengths })
    }

    /// The names of the faults whose lengths are drawn.
    pub fn drawn(&self) -> Vec<&'q str> {
        self.lengths.names()
    }

    /// Makes the run of this number, with lengths of faults drawn by their tails, and adds it to the others.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    pub fn add(&self, number: u64, runs: &mut Weighted) -> Result<(), RunError> {
        let seed = self.question.seed_of("run", number);
        let (schedule, weight) = self.lengths.draw(seed);
        let run = run_schedule(&self.question.scenario, seed, schedule, Keep::default())?;
        runs.add(self.question.is_violated(&run).then_some(weight));
        Ok(())
    }
}

/// Makes the run of this number of the scenario as it is, and adds it to the others, with weight 1.
///
/// # Errors
///
/// If the run has no result.
pub fn count(question: &Question, number: u64, runs: &mut Weighted) -> Result<(), RunError> {
    let seed = question.seed_of("plain", number);
    let run = judged::run(&question.scenario, seed, Keep::default())?;
    runs.add(question.is_violated(&run).then_some(1.0));
    Ok(())
}
