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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use locklab_check::Property;
    use locklab_evidence::{Interval, wilson};
    use locklab_model::scenario::{Scenario, load};

    use super::*;

    fn question(scenario: &Scenario, runs: u64) -> Question<'_> {
        static STOP: AtomicBool = AtomicBool::new(false);
        Question {
            scenario,
            property: Property::Resource,
            seed: 0,
            runs,
            threads: 2,
            stop: &STOP,
            progress: &|_| (),
        }
    }

    fn k1(sets: &[&str]) -> Scenario {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        load("kleppmann/k1-exponential", &sets).expect("it ships")
    }

    /// The rate of `kleppmann/k1-exponential` by its own text, with a lease of 1000 ms; a mean in
    /// milliseconds.
    fn on_paper(mean: f64) -> f64 {
        (-996.5 / mean).exp() * (mean / 200.0) * (1.0 - (-200.0 / mean).exp())
    }

    /// The interval contains the rate that was calculated, and is narrow.
    #[track_caller]
    fn check(scenario: &Scenario, runs: u64, expected: f64) {
        let sampled = sample(&question(scenario, runs)).expect("it has a result");
        let rate = sampled.weighted.rate();
        let interval = sampled.weighted.interval().expect("enough runs");
        let told = format!("{rate:e} in {interval:?}, calculated {expected:e}");
        assert!(
            interval.low < expected && expected < interval.high,
            "{told}"
        );
        assert!(interval.width() < 0.32 * expected, "{told}");
    }

    #[test]
    fn k1_far_out_has_the_rate_that_paper_says() {
        check(
            &k1(&["fault.gc.duration_ms.exponential=125"]),
            5000,
            on_paper(125.0),
        );
        if std::env::var_os("LOCKLAB_LONG").is_some() {
            // 5.5e-10 per run.
            check(
                &k1(&["fault.gc.duration_ms.exponential=50"]),
                60_000,
                on_paper(50.0),
            );
        }
    }

    #[test]
    fn where_both_can_measure_plain_runs_have_the_same_rate() {
        let scenario = k1(&["fault.gc.duration_ms.exponential=250"]);
        let question = question(&scenario, 2000);
        let sampled = sample(&question).expect("it has a result").weighted;
        let counted = count(&question).expect("they end");
        let [sampled, counted] = [
            sampled.interval(),
            wilson(counted.violated, counted.runs).into(),
        ]
        .map(|it: Option<Interval>| it.expect("enough runs"));
        assert!(
            sampled.overlaps(&(counted.low..=counted.high)),
            "{sampled:?} {counted:?}"
        );
        assert!(sampled.width() < counted.width());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let scenario = k1(&["fault.gc.duration_ms.exponential=250"]);
        let [one, three] = [1, 3].map(|threads| {
            let question = Question {
                threads,
                ..question(&scenario, 200)
            };
            let sampled = sample(&question).expect("it has a result");
            (sampled.proposal.factors, sampled.weighted)
        });
        assert_eq!(one, three);
    }

    #[test]
    fn without_a_length_to_stretch_there_is_no_sampling() {
        let constant = k1(&["fault.gc.duration_ms=2000"]);
        let refused = sample(&question(&constant, 200));
        assert!(matches!(refused, Err(RareError::NothingToStretch)));
    }
}
