//! Importance sampling: runs whose faults last longer than in the scenario, each weighed by the ratio of
//! the two densities.
//!
//! The faults of a run are drawn before it begins, each number independently of all that is drawn within
//! the run. So the ratio of the densities of the durations is that of the whole runs, and the mean of the
//! weights of violating runs is the rate, without bias, whatever the proposal.

use locklab_evidence::Weighted;
use locklab_runner::RunError;
use locklab_runner::judged::{self, run_schedule};
use locklab_runner::simulate::Keep;

use crate::{Proposal, Question, RareError, pilot};

/// What importance sampling comes to.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// From which distribution the runs were drawn.
    pub proposal: Proposal,
    /// How many runs it took to choose it.
    pub pilot_runs: u64,
    /// The runs.
    pub weighted: Weighted,
}

/// Chooses by how much to stretch the faults, and then makes all runs of the question.
///
/// # Errors
///
/// If there is nothing to stretch, stretching causes no violation, or a run fails.
pub fn sample(question: &Question<'_>) -> Result<Sampled, RareError> {
    let (proposal, pilot_runs) = pilot::choose(question)?;
    let one = |number| -> Result<Option<f64>, RunError> {
        let seed = question.seed_of("run", number);
        let schedule = proposal.draw(seed);
        let run = run_schedule(question.scenario, seed, schedule, Keep::default())?;
        (question.progress)(1);
        let is_violated = question.is_violated(&run);
        Ok(is_violated.then(|| proposal.weight(&run.schedule)))
    };
    let mut weighted = Weighted::default();
    for violating in question.each(0..question.runs, one)? {
        weighted.add(violating);
    }
    Ok(Sampled {
        proposal,
        pilot_runs,
        weighted,
    })
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
    let mut weighted = Weighted::default();
    for violating in question.each(0..question.runs, one)? {
        weighted.add(violating);
    }
    Ok(weighted)
}
