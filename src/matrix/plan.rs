//! The problems, the metrics, and what is predicted: `plan.toml`, read.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::metrics::Measure;
use super::row::{Row, Setting};
use crate::check::Property;
use crate::evidence::Prediction;
use crate::locks::{LockSpec, Servers};

/// What the matrix consists of, beside its rows.
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

/// A problem that a lock must survive, and what is predicted of each.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// How options and files call it.
    pub name: String,
    /// The problem in a few words, for headings.
    pub title: String,
    /// The scenario that brings it about.
    pub scenario: String,
    /// What the scenario puts to the test.
    pub property: Property,
    /// The lease of every lock in it, in milliseconds.
    #[serde(default = "default_lease_ms")]
    pub lease_ms: u64,
    /// Parameters that each lock gets in it that knows them.
    #[serde(default)]
    pub lock: toml::Table,
    /// Which locks can meet it at all; absent: all.
    pub needs: Option<Need>,
    /// What is expected of every lock that is not named below.
    pub expect: Prediction,
    /// The locks, or single forms of one, of which something else is expected.
    #[serde(default)]
    other: BTreeMap<String, Prediction>,
    /// The locks, or single forms of one, that cannot meet the problem, and why.
    #[serde(default)]
    cannot: BTreeMap<String, String>,
}

/// What a problem needs of a lock to be one for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Its servers are Redis.
    Redis,
    /// It lives on one node.
    OneNode,
    /// It lives on several nodes.
    OtherNodes,
}

impl Need {
    /// Why `lock` cannot meet such a problem, if so.
    fn lacking(self, lock: &LockSpec) -> Option<&'static str> {
        let (is_met, why) = match self {
            Need::Redis => (lock.servers() == Servers::Redis, "its servers are no Redis"),
            Need::OneNode => (
                lock.nodes() == 1,
                "whose lock was deleted can be told on one node only",
            ),
            Need::OtherNodes => (lock.nodes() > 1, "it has no other node to go to"),
        };
        (!is_met).then_some(why)
    }
}

/// Something to measure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// How files call it.
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
    /// The lease of every lock in it, in milliseconds.
    #[serde(default = "default_lease_ms")]
    pub lease_ms: u64,
    /// What is measured.
    pub measure: Measure,
}

/// What a metric tells about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// What a lock costs (claim K17).
    Cost,
    /// Whether and when those who wait get it.
    Liveness,
}

/// What is expected of a row in a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expectation<'p> {
    /// This is predicted.
    Of(Prediction),
    /// The lock cannot meet the problem, for this reason.
    Cannot(&'p str),
}

impl Plan {
    /// The plan that ships.
    pub fn shipped() -> Plan {
        toml::from_str(include_str!("plan.toml")).expect("a test reads the plan that ships")
    }
}

impl Metric {
    /// What it asks of every lock.
    pub fn setting(&self) -> Setting {
        Setting {
            lease_ms: self.lease_ms,
            parameters: toml::Table::new(),
        }
    }
}

impl Problem {
    /// What it asks of every lock.
    pub fn setting(&self) -> Setting {
        Setting {
            lease_ms: self.lease_ms,
            parameters: self.lock.clone(),
        }
    }

    /// What is predicted of `row`, which is `lock`: by its form, else by its lock, else as
    /// of all.
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

/// Short against the time of a run, long against a round trip.
fn default_lease_ms() -> u64 {
    1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::rows;

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
