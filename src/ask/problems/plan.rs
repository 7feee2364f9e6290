//! The problems, the metrics and the predictions, as read from `plan.toml`.

use locklab_vecmap::VecMap;
use serde::Deserialize;

use super::metrics::Measure;
use super::row::{Row, Setting};
use locklab_check::Property;
use locklab_evidence::Prediction;
use locklab_locks::{LockSpec, Servers};

/// The contents of the matrix, apart from its rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The columns with verdicts.
    #[serde(rename = "problem")]
    pub problems: Vec<Problem>,
    /// The columns with numbers.
    #[serde(rename = "metric")]
    pub metrics: Vec<Metric>,
}

/// A problem that a lock must survive, with a prediction for each lock.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Its name in options and files.
    pub name: String,
    /// The problem in a few words, for headings.
    pub title: String,
    /// The scenario that brings it about.
    pub scenario: String,
    /// The property that the scenario tests.
    pub property: Property,
    /// The lease of every lock in the scenario, in milliseconds.
    #[serde(default = "default_lease_ms")]
    pub lease_ms: u64,
    /// Parameters for every lock that has them.
    #[serde(default)]
    pub lock: toml::Table,
    /// The locks to which the problem applies; absent: all.
    pub needs: Option<Need>,
    /// The prediction for every lock that is not named below.
    pub expect: Prediction,
    /// Other predictions, for locks or single forms of one.
    #[serde(default)]
    other: VecMap<String, Prediction>,
    /// Locks, or single forms of one, to which the problem does not apply, each with the
    /// reason.
    #[serde(default)]
    cannot: VecMap<String, String>,
}

/// A requirement that a lock must meet for a problem to apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Its servers are Redis.
    Redis,
    /// It uses one node.
    OneNode,
    /// It uses several nodes.
    OtherNodes,
}

impl Need {
    /// Why `lock` does not meet the requirement; `None` if it does.
    fn lacking(self, lock: &LockSpec) -> Option<&'static str> {
        let (is_met, why) = match self {
            Need::Redis => (
                lock.servers() == Servers::Redis,
                "its servers are not Redis",
            ),
            Need::OneNode => (
                lock.nodes() == 1,
                "the owner of a deleted lock is known on one node only",
            ),
            Need::OtherNodes => (lock.nodes() > 1, "it has no other node"),
        };
        (!is_met).then_some(why)
    }
}

/// A quantity to measure, and the scenario for it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in files.
    pub name: String,
    /// What is measured, for headings.
    pub title: String,
    /// Which table it belongs to.
    pub about: About,
    /// The scenario in which it is measured.
    pub scenario: String,
    /// Overrides of the scenario.
    #[serde(default)]
    pub set: Vec<String>,
    /// The lease of every lock in the scenario, in milliseconds.
    #[serde(default = "default_lease_ms")]
    pub lease_ms: u64,
    /// What is measured.
    pub measure: Measure,
}

/// The subject of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The cost of a lock (claim K17).
    Cost,
    /// Whether and when waiters get the lock.
    Liveness,
}

/// The expectation for a row in a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expectation<'p> {
    /// This is the prediction.
    Of(Prediction),
    /// The problem does not apply to the lock, for this reason.
    Cannot(&'p str),
}

impl Plan {
    /// The plan that ships.
    pub fn shipped() -> Plan {
        toml::from_str(include_str!("plan.toml")).expect("a test reads the plan that ships")
    }
}

impl Metric {
    /// The setting of every lock in this problem.
    pub fn setting(&self) -> Setting {
        Setting {
            lease_ms: self.lease_ms,
            parameters: toml::Table::new(),
        }
    }
}

impl Problem {
    /// The setting of every lock for this metric.
    pub fn setting(&self) -> Setting {
        Setting {
            lease_ms: self.lease_ms,
            parameters: self.lock.clone(),
        }
    }

    /// The expectation for `row`, which contains `lock`: by its form, otherwise by its lock,
    /// otherwise the default.
    pub fn expectation(&self, row: &Row, lock: &LockSpec) -> Expectation<'_> {
        if let Some(why) = self.needs.and_then(|need| need.lacking(lock)) {
            return Expectation::Cannot(why);
        }
        for name in [row.label.as_str(), row.entry.name] {
            if let Some(expected) = self.other.get(name) {
                return Expectation::Of(*expected);
            }
            if let Some(why) = self.cannot.get(name) {
                return Expectation::Cannot(why);
            }
        }
        Expectation::Of(self.expect)
    }
}

/// Short compared to the duration of a run, long compared to a round trip.
fn default_lease_ms() -> u64 {
    1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::rows;

    #[test]
    fn predictions_speak_of_locks_that_there_are() {
        let rows = rows();
        for problem in Plan::shipped().problems {
            for name in problem.other.keys().chain(problem.cannot.keys()) {
                let known = rows.iter().any(|row| row.is_called(name));
                assert!(known, "{}: no lock is called {name:?}", problem.name);
            }
            for prediction in problem.other.values().chain([&problem.expect]) {
                assert_eq!(prediction.problem(), None, "{}", problem.name);
            }
        }
    }
}
