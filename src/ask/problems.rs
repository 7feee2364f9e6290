//! What several questions share: the locks in all their forms, and as data the problems, metrics and predictions of the
//! matrix and of costs.
//!
//! A *row* is a lock of the catalogue in one of its forms. A *problem* is a scenario and the
//! property that it tests; a *metric* is a scenario and the quantity measured in it. [`plan`]
//! defines both, with the predictions, as data. Each lock replaces the lock of each scenario,
//! with the nodes that it needs.

mod choice;
pub mod metrics;
pub mod plan;
mod row;

pub(crate) use choice::{chosen_rows, lock, lock_completer, meant};
pub use plan::{Expectation, Metric, Plan, Problem};
pub use row::{Row, Setting, rows};

use locklab_evidence::Prediction;
use locklab_locks::{Servers, is_registered};
use locklab_model::scenario::{self, Scenario};
use locklab_model::workload::Fencing;

/// The part of a lock in a problem.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// The lock is run, with an expected result.
    Plays {
        /// The problem's scenario with this lock.
        scenario: Box<Scenario>,
        /// The prediction for the problem's property; there is none for a lock of another crate,
        /// which is run to see what happens.
        predicted: Option<Prediction>,
    },
    /// The problem cannot arise for this kind of lock.
    Cannot {
        /// The reason.
        why: String,
    },
}

impl Part {
    /// The part of `row` in `problem`.
    ///
    /// # Errors
    ///
    /// If lock and scenario do not fit together although the plan includes them.
    pub fn of(row: &Row, problem: &Problem) -> Result<Part, String> {
        Ok(
            match problem.expectation(row, &row.lock(&problem.setting())?) {
                Expectation::Cannot(why) => Part::Cannot { why: why.into() },
                Expectation::Of(predicted) => {
                    let mut scenario = put_in(row, &problem.scenario, &[], &problem.setting())?;
                    scenario.headline = Some(problem.property);
                    Part::Plays {
                        scenario: Box::new(scenario),
                        predicted: (!is_registered(row.entry.name)).then_some(predicted),
                    }
                }
            },
        )
    }
}

/// A shipped scenario with this lock instead of its own, on the nodes that the lock needs, and
/// with a resource that compares tokens if the lock gives any. Faults on hosts that no longer
/// exist are left out. The result has no predictions.
///
/// # Errors
///
/// If lock and scenario do not fit together.
pub fn put_in(
    row: &Row,
    scenario: &str,
    sets: &[String],
    setting: &Setting,
) -> Result<Scenario, String> {
    let mut scenario = scenario::load(scenario, sets).map_err(|error| error.to_string())?;
    scenario.lock = row.lock(setting)?;
    scenario.topology.nodes = scenario.lock.nodes();
    if scenario.topology.nodes > 1 || scenario.lock.servers() != Servers::Redis {
        // Its nodes are independent of each other, or replicate by themselves.
        scenario.topology.replicas = 0;
        scenario.topology.sentinels = 0;
    }
    let hosts = scenario.topology.hosts();
    let is_there = |host: &str| hosts.iter().any(|name| name == host);
    scenario
        .fault
        .retain(|_, fault| fault.effect.keep_hosts(is_there));
    if scenario.lock.gives_tokens() {
        scenario.resource.fencing = Fencing::ReadsAndWrites;
    }
    scenario.overrides.push(format!("lock={}", row.label));
    scenario.expect.clear();
    scenario.sweep = None;
    scenario::check(&scenario).map_err(|error| format!("{}: {error}", row.label))?;
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use locklab_model::scenario::{Scenario, check};

    use super::*;

    #[test]
    fn what_is_drawn_for_any_lock_is_a_valid_scenario_of_its_own() {
        let setting = Setting {
            lease_ms: 1000,
            parameters: toml::Table::new(),
        };
        for row in rows() {
            let scenario = put_in(&row, "problems/campaign", &[], &setting).expect("it fits");
            for seed in 0..20 {
                let drawn = scenario.drawn(seed).scenario.into_owned();
                check(&drawn).unwrap_or_else(|error| panic!("{}, {seed}: {error}", row.label));
                assert_eq!(drawn.campaign, None);
                let text = toml::to_string(&drawn).expect("it can be written");
                let again: Scenario = toml::from_str(&text).expect("and read");
                assert_eq!(again.fault, drawn.fault);
                assert_eq!(again.topology, drawn.topology);
            }
        }
    }

    #[test]
    fn every_lock_fits_into_every_problem_and_every_gauge() {
        let plan = Plan::shipped();
        for row in rows() {
            for problem in &plan.problems {
                if let Err(error) = Part::of(&row, problem) {
                    panic!("{} in {}: {error}", row.label, problem.name);
                }
            }
            for metric in &plan.metrics {
                if let Err(error) = put_in(&row, &metric.scenario, &metric.set, &metric.setting()) {
                    panic!("{} in {}: {error}", row.label, metric.name);
                }
            }
        }
    }
}
