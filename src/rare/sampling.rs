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

use crate::{Lengths, Question, RareError};

/// Makes the runs of the question, with lengths of faults drawn by their tails.
///
/// # Errors
///
/// If no length is random, or a run fails.
pub fn sample(question: &Question<'_>) -> Result<Weighted, RareError> {
    let lengths = Lengths::of(question.scenario).ok_or(RareError::NothingRandom)?;
    let one = |number| -> Result<Option<f64>, RunError> {
        let seed = question.seed_of("run", number);
        let (schedule, weight) = lengths.draw(seed);
        let run = run_schedule(question.scenario, seed, schedule, Keep::default())?;
        (question.progress)(1);
        Ok(question.is_violated(&run).then_some(weight))
    };
    weighted(question, one)
}

/// Runs of the scenario as it is, each of weight 1.
///
/// # Errors
///
/// If a run fails.
pub fn count(question: &Question<'_>) -> Result<Weighted, RareError> {
    let one = |number| -> Result<Option<f64>, RunError> {
        let seed = question.seed_of("plain", number);
        let run = judged::run(question.scenario, seed, Keep::default())?;
        (question.progress)(1);
        Ok(question.is_violated(&run).then_some(1.0))
    };
    weighted(question, one)
}

/// All runs of the question, each with its weight if it violates the property.
fn weighted(
    question: &Question<'_>,
    one: impl Fn(u64) -> Result<Option<f64>, RunError> + Sync,
) -> Result<Weighted, RareError> {
    let mut weighted = Weighted::default();
    for violating in question.each(0..question.runs, one)? {
        weighted.add(violating);
    }
    Ok(weighted)
}
