//! A run in which all causes may strike.
//!
//! Each strikes a Poisson number of times, far more often than in the environment, about once in all. The
//! weight of a run is the ratio of the densities of the two processes: for each cause e^(μ' − μ), where μ and
//! μ' are the expected numbers of strikes there and here, and for each strike its rate, times its exposure,
//! over μ'. The first factor is the same for all runs, and needs the mean exposures, which the runs of each
//! cause alone have: it is multiplied with their sum.

use locklab_runner::RunError;
use locklab_values::random::Stream;
use serde::Serialize;

use crate::risk::model::environment::Cause;
use crate::risk::model::grant::{Grants, Outcome};

/// The expected number of strikes of a run, of all causes together.
const STRIKES: f64 = 1.0;

/// The causes, each with its strikes per millisecond.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Together {
    pub causes: Vec<(Cause, f64)>,
}

impl Together {
    /// A run in which they strike. Its weight lacks the factor that all runs share.
    pub fn run(&self, grants: &Grants, seed: u64) -> Result<Outcome, RunError> {
        let here = here(self.causes.len());
        let mut stream = Stream::new(seed, "risk/strikes");
        let (mut struck, mut weight) = (Vec::new(), 1.0);
        for (cause, rate) in &self.causes {
            for _ in 0..poisson(here, &mut stream) {
                struck.push(cause);
                weight *= rate / here;
            }
        }
        let outcome = grants.together(&struck, seed)?;
        Ok(Outcome {
            weight: weight * outcome.weight,
            ..outcome
        })
    }
}

/// The expected number of strikes of each of so many causes in a run.
pub(crate) fn here(causes: usize) -> f64 {
    STRIKES / causes.max(1) as f64
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
