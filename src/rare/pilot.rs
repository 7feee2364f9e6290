//! By how much to stretch the faults: pilot runs, whose results enter no rate.
//!
//! First all faults are stretched by the same factor, doubled until enough runs violate the property. Then
//! two rounds of the cross-entropy method fit the factor of each fault to the runs that violate it, as
//! likely as they are in the scenario; a fault that does not matter goes back to about 1.

use locklab_history::Schedule;
use locklab_runner::RunError;
use locklab_runner::judged::run_schedule;
use locklab_runner::simulate::Keep;

use crate::{Proposal, Question, RareError};

/// Factors are doubled at most this often.
const DOUBLINGS: u32 = 12;

/// Runs with each factor, and for each fit.
const RUNS: u64 = 200;

/// Fits.
const FITS: u64 = 2;

/// So many runs have to violate the property, for a factor to be large enough or for a fit.
const ENOUGH: usize = 10;

/// The proposal, and how many runs its choice took.
pub(crate) fn choose(question: &Question<'_>) -> Result<(Proposal, u64), RareError> {
    let as_it_is = Proposal::of(question.scenario).ok_or(RareError::NothingToStretch)?;
    let mut made = 0;
    let mut best: Option<(Proposal, Vec<(f64, Schedule)>)> = None;
    for doubling in 0..=DOUBLINGS {
        let factor = 2_f64.powi(doubling as i32);
        let same = as_it_is.factors.keys().map(|name| (name.clone(), factor));
        let proposal = as_it_is.with(same.collect());
        let found = violating(question, &proposal, &format!("pilot/{doubling}"))?;
        made += RUNS;
        if found.len() > best.as_ref().map_or(0, |(_, found)| found.len()) {
            best = Some((proposal, found));
        }
        if best
            .as_ref()
            .is_some_and(|(_, found)| found.len() >= ENOUGH)
        {
            break;
        }
    }
    let Some((mut proposal, mut found)) = best else {
        return Err(RareError::NotByLength(question.property.name()));
    };
    for fit in 0..FITS {
        let next = proposal.with(proposal.fitted(&found));
        let of_next = violating(question, &next, &format!("fit/{fit}"))?;
        made += RUNS;
        if of_next.len() < ENOUGH {
            break;
        }
        (proposal, found) = (next, of_next);
    }
    Ok((proposal.with(proposal.fitted(&found)), made))
}

/// The runs that violate the property, each with its weight and its faults.
fn violating(
    question: &Question<'_>,
    proposal: &Proposal,
    stage: &str,
) -> Result<Vec<(f64, Schedule)>, RareError> {
    let one = |number| -> Result<Option<(f64, Schedule)>, RunError> {
        let seed = question.seed_of(stage, number);
        let schedule = proposal.draw(seed);
        let run = run_schedule(question.scenario, seed, schedule, Keep::default())?;
        (question.progress)(1);
        let is_violated = question.is_violated(&run);
        Ok(is_violated.then(|| (proposal.weight(&run.schedule), run.schedule)))
    };
    Ok(question.each(0..RUNS, one)?.into_iter().flatten().collect())
}
