//! The scenario of one grant: a lock in an environment, with a holder and another client.

use std::collections::BTreeMap;

use locklab_locks::{CatalogueEntry, LockSpec, catalogue};
use locklab_model::scenario::{self, Network, Scenario, ScenarioError, did_you_mean};
use locklab_values::dist::Dist;
use serde::Serialize;
use toml::{Table, Value};

use crate::arrival::Demand;
use crate::environment::Environment;
use crate::time::Time;

/// A client stops trying after so many leases, and not before so many milliseconds. If it never did, it would
/// ask servers that are cut off for an hour thousands of times.
const GIVES_UP_LEASES: f64 = 2.0;
const GIVES_UP_MS: f64 = 10_000.0;

/// What is asked: which lock, held how long, asked for how often, and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    /// The lock's name in the catalogue.
    pub lock: String,
    /// Its lease.
    pub lease: Time,
    /// How long the work under the lock takes, in milliseconds.
    pub work_ms: Dist,
    /// When the next client asks.
    pub demand: Demand,
    /// Overrides of the scenario, each `path=value`: `lock.fencing_token=true`.
    pub sets: Vec<String>,
    /// Where.
    pub environment: Environment,
}

/// Why a lock cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no such lock.
    #[error("unknown lock \"{name}\"{meant}")]
    Unknown {
        /// As it was written.
        name: String,
        /// The nearest name.
        meant: String,
    },
    /// The lock's lease has a name or a form that is not known here.
    #[error("the parameters of \"{name}\" are not valid: {what}")]
    Parameters {
        /// The lock.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl Setup {
    /// The scenario, without faults and times.
    ///
    /// # Errors
    ///
    /// If the lock is unknown, or an override is not valid.
    pub fn scenario(&self) -> Result<Scenario, SetupError> {
        let wrong = |what: String| SetupError::Parameters {
            name: self.lock.clone(),
            what,
        };
        let lock = self.lock_table()?;
        let spec: LockSpec = lock
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let topology = BTreeMap::from([("nodes", spec.nodes()), ("clients", 2)]);
        let network = Network {
            latency_ms: self.environment.network.latency_ms.clone(),
            loss: self.environment.network.loss,
        };
        let give_up_ms = (GIVES_UP_LEASES * self.lease.0).max(GIVES_UP_MS);
        let workload = BTreeMap::from([("give_up_ms", give_up_ms as u64)]);
        let value = |value: Result<Value, toml::ser::Error>| {
            value.map_err(|error| wrong(error.to_string()))
        };
        let table: Table = [
            ("title", value(Value::try_from("One grant"))?),
            ("topology", value(Value::try_from(topology))?),
            ("lock", Value::Table(lock)),
            ("workload", value(Value::try_from(workload))?),
            ("network", value(Value::try_from(network))?),
            ("clocks", value(Value::try_from(&self.environment.clocks))?),
            ("node", value(Value::try_from(&self.environment.node))?),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect();
        let text = toml::to_string(&table).map_err(|error| wrong(error.to_string()))?;
        Ok(scenario::parse("risk.toml", &text, &self.sets)?)
    }

    /// The lock in its most common form, with the lease.
    fn lock_table(&self) -> Result<Table, SetupError> {
        let entry = self.entry()?;
        let form = entry.forms.first().map_or("", |(_, form)| form);
        // Leases are whole milliseconds.
        let lease = format!("{:.0}", self.lease.0);
        let text = format!(
            "name = \"{}\"\n{}",
            entry.name,
            form.replace("LEASE", &lease)
        );
        text.parse()
            .map_err(|error: toml::de::Error| SetupError::Parameters {
                name: self.lock.clone(),
                what: error.to_string(),
            })
    }

    /// The lock in the catalogue.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn entry(&self) -> Result<&'static CatalogueEntry, SetupError> {
        let all = catalogue();
        let names: Vec<String> = all.iter().map(|entry| entry.name.to_owned()).collect();
        let mut called = all.into_iter().filter(|entry| entry.name == self.lock);
        called.next().ok_or_else(|| SetupError::Unknown {
            name: self.lock.clone(),
            meant: did_you_mean(&self.lock, &names),
        })
    }
}

/// Anything as a TOML value in one line.
pub fn inline(value: &impl Serialize) -> String {
    Value::try_from(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}
