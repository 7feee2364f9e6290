//! All causes of an environment together, which may interact: a crash while a client pauses.
//!
//! In a run each cause strikes a Poisson number of times, far more often than in the environment, about
//! once in all. The weight of a run is the ratio of the densities of the two processes: for each cause
//! e^(μ' − μ), where μ and μ' are the expected numbers of strikes there and here, and for each strike its
//! rate, times its exposure, over μ'.

use locklab_values::random::Stream;

use crate::estimate::{Number, Runs};
use crate::grant::Outcome;
use crate::question::{ByCause, Effort, RiskError, grants, runs};
use crate::setup::Setup;

/// The expected number of strikes of a run, of all causes together.
const STRIKES: f64 = 1.0;

/// So many times the runs of a single cause.
const RUNS: u64 = 4;

/// Estimates the violations per grant, by the properties of [`PROPERTIES`](crate::PROPERTIES). `by_cause`
/// says how often each cause strikes on average.
///
/// # Errors
///
/// If the lock cannot be set up, or a run fails.
pub fn whole(
    setup: &Setup,
    by_cause: &ByCause,
    effort: Effort<'_>,
) -> Result<[Number; 2], RiskError> {
    let scenario = setup.scenario()?;
    let grants = grants(setup, &scenario, effort);
    let causes = by_cause.shares.iter().filter_map(|share| {
        let cause = setup.environment.cause.get(&share.cause)?;
        Some((cause, share.rate, share.rate * share.runs.exposure_ms()))
    });
    let causes: Vec<_> = causes.collect();
    let here = STRIKES / causes.len().max(1) as f64;
    let of_causes: f64 = causes.iter().map(|(_, _, there)| here - there).sum();
    // Each cause strikes in a part of the runs only.
    let effort = Effort {
        runs: effort.runs * RUNS,
        ..effort
    };
    let made = runs(effort, "whole", |seed| {
        let mut stream = Stream::new(seed, "risk/strikes");
        let (mut struck, mut weight) = (Vec::new(), libm::exp(of_causes));
        for (cause, rate, _) in &causes {
            for _ in 0..poisson(here, &mut stream) {
                struck.push(*cause);
                weight *= rate / here;
            }
        }
        let outcome = grants.together(&struck, seed)?;
        Ok(Outcome {
            weight: weight * outcome.weight,
            ..outcome
        })
    })?;
    Ok([0, 1].map(|property| total(&made, property)))
}

fn total(runs: &Runs, property: usize) -> Number {
    runs.per_grant(property, 1.0)
}

/// A Poisson number by inversion; takes one number from the stream.
fn poisson(mean: f64, stream: &mut Stream) -> u32 {
    let mut left = stream.uniform_f64();
    let mut probability = libm::exp(-mean);
    let mut number = 0;
    while left >= probability && number < 100 {
        left -= probability;
        number += 1;
        probability *= mean / f64::from(number);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_numbers_have_their_mean_and_variance() {
        let mut stream = Stream::new(0, "poisson");
        let drawn: Vec<f64> = (0..50_000)
            .map(|_| f64::from(poisson(0.7, &mut stream)))
            .collect();
        let mean = drawn.iter().sum::<f64>() / 50_000.0;
        let squares = drawn
            .iter()
            .map(|it| (it - mean) * (it - mean))
            .sum::<f64>()
            / 50_000.0;
        assert!(
            (mean - 0.7).abs() < 0.02 && (squares - 0.7).abs() < 0.03,
            "{mean} {squares}"
        );
    }
}
