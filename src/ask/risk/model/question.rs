//! The series of one setup, one for each cause, and the answer from their runs.

use std::sync::Arc;

use serde::Serialize;

use crate::risk::model::environment::Cause;
use crate::risk::model::estimate::{Number, Runs};
use crate::risk::model::excluded::Excluded;
use crate::risk::model::grant::Grants;
use crate::risk::model::series::{Of, Sampling, Series, grants};
use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;

/// What is to be estimated in one setup: a series without any cause, and one for each cause that can strike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Causes {
    series: Vec<Series>,
    /// Of each series, the name of its cause, and the strikes per millisecond.
    strikes: Vec<(String, f64)>,
    /// Of each series, the sum that excludes its cause.
    #[serde(skip)]
    excluded: Vec<Option<Excluded>>,
    left_out: Vec<String>,
}

impl Causes {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn plan(setup: &Setup, sampling: Sampling) -> Result<Causes, SetupError> {
        let grants = grants(setup, sampling)?;
        let mut series = vec![Series::new(&grants, Of::Nothing, sampling)];
        let mut strikes = vec![(String::new(), 1.0)];
        let mut excluded = vec![None];
        let mut left_out = Vec::new();
        for (name, cause) in &setup.environment.cause {
            match rate(&grants, cause) {
                Some(rate) => {
                    let nodes = grants.scenario.topology.nodes;
                    excluded.push(Excluded::of(setup, nodes, cause, sampling.until));
                    let of = Of::Cause(name.clone(), Box::new(cause.clone()));
                    series.push(Series::new(&grants, of, sampling));
                    strikes.push((name.clone(), rate));
                }
                None => left_out.push(name.clone()),
            }
        }
        Ok(Causes {
            series,
            strikes,
            excluded,
            left_out,
        })
    }

    /// The series, in the order in which [`Causes::answer`] wants their runs.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// The names of the causes that can strike, each with its strikes per millisecond.
    pub(crate) fn strikes(&self) -> &[(String, f64)] {
        &self.strikes[1..]
    }

    /// The answer from the runs of each series.
    pub fn answer(&self, made: &[Runs]) -> ByCause {
        let share =
            |(((cause, rate), excluded), runs): ((&(String, f64), &Option<Excluded>), &Runs)| {
                Share {
                    cause: cause.clone(),
                    rate: *rate,
                    runs: runs.clone(),
                    excluded: excluded.filter(|_| !runs.has_violation()),
                }
            };
        let strikes = self.strikes.iter().zip(&self.excluded);
        ByCause {
            shares: strikes.zip(made).map(share).collect(),
            left_out: self.left_out.clone(),
        }
    }
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
    /// The sum that excludes that it violates anything.
    pub excluded: Option<Excluded>,
}

impl Share {
    /// Violations of a property per grant.
    pub fn per_grant(&self, property: usize) -> Number {
        match self.excluded {
            Some(_) => Number::default(),
            None => self.runs.per_grant(property, self.rate),
        }
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
    /// Violations of a property per grant, of all causes together. What is not excluded of grants that nothing
    /// strikes is left out: each of their runs stands for a grant, so it would only say how few runs there are.
    pub fn sum(&self, property: usize) -> Number {
        Number::sum(self.shares.iter().map(|share| {
            let number = share.per_grant(property);
            match share.cause.is_empty() && number.violated == 0 {
                true => Number::default(),
                false => number,
            }
        }))
    }
}

/// Strikes of a cause per millisecond, on all its hosts together; `None` if there are none.
pub(crate) fn rate(grants: &Arc<Grants>, cause: &Cause) -> Option<f64> {
    let groups = grants.groups(cause);
    (groups > 0).then(|| groups as f64 / cause.every.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use locklab_values::dist::Dist;

    use super::*;
    use crate::risk::model::arrival::Demand;
    use crate::risk::model::environment::Environment;
    use crate::risk::model::grant::{Outcome, Says};
    use crate::risk::model::time::Time;

    fn setup(environment: Environment) -> Setup {
        Setup {
            lock: "set-nx-px".into(),
            lease: Time(10_000.0),
            work_ms: Dist::Constant(2000.0),
            demand: Demand::Contended,
            sets: vec![],
            environment,
        }
    }

    #[test]
    fn a_run_refutes_the_sum_that_excludes_its_cause() {
        let text = "title = \"t\"\n[network]\nlatency_ms = 1\nsource = \"s\"\n[cause.gc]\ntitle = \"gc\"\n\
                    fault = \"pause\"\non = [\"client\"]\nevery = \"1 min\"\nduration_ms = 10\nsource = \"s\"\n";
        let setup = setup(toml::from_str(text).expect("it is an environment"));
        let sampling = Sampling {
            runs: 1,
            until: 1e-9,
            seed: 0,
        };
        let causes = Causes::plan(&setup, sampling).expect("it can be set up");
        let is_excluded = |says| {
            let mut runs = Runs::default();
            runs.add(Outcome {
                says: [says; 2],
                weight: 1.0,
            });
            let answer = causes.answer(&[Runs::default(), runs]);
            answer.shares[1].excluded.is_some()
        };
        assert!(is_excluded(Says::Holds) && !is_excluded(Says::Violated));
    }

    #[test]
    fn no_two_runs_of_an_answer_have_the_same_seed() {
        let setup = setup(Environment::load("jvm-on-vms", &[]).expect("it ships"));
        let sampling = Sampling {
            runs: 1000,
            until: 1e-9,
            seed: 0,
        };
        let causes = Causes::plan(&setup, sampling).expect("it can be set up");
        let seeds = causes.series().iter();
        let seeds = seeds.flat_map(|series| series.numbers().map(|number| series.seed_of(number)));
        let seeds: BTreeSet<u64> = seeds.collect();
        assert_eq!(seeds.len(), 1000 * causes.series().len());
    }
}
