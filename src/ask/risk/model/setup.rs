//! The scenario of one grant: a lock in an environment, with a holder and another client.

use locklab_locks::{LockSpec, Servers};
use locklab_model::scenario::{self, Network, Scenario};
use locklab_values::dist::Dist;
use locklab_vecmap::VecMap;
use serde::Serialize;
use toml::{Table, Value};

use crate::risk::model::arrival::Demand;
use crate::risk::model::environment::Environment;
use crate::risk::model::row::{LockRow, Term};
use crate::risk::model::setup_error::SetupError;
use crate::risk::model::time::Time;

/// A client stops trying after so many leases, and not before so many milliseconds. If it never did, it would
/// ask servers that are cut off for an hour thousands of times.
const GIVES_UP_LEASES: f64 = 2.0;
const GIVES_UP_MS: f64 = 10_000.0;

/// What is asked: which lock, held how long, asked for how often, and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    /// The lock: its name, or that of one of its forms, `set-nx-px (with token)`. With `+replica` its node has a
    /// replica, and a sentinel that promotes it.
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
        let row = self.row()?;
        // Leases are whole milliseconds.
        let lock = row.table(self.lease.0.round() as u64).map_err(wrong)?;
        let spec: LockSpec = lock
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let [replicas, sentinels] = row.replicas_and_sentinels();
        if replicas > 0 && (spec.nodes() > 1 || spec.servers() != Servers::Redis) {
            return Err(wrong(
                "only a lock on one Redis node can have a replica; leave out +replica".into(),
            ));
        }
        let topology = VecMap::from([
            ("nodes", spec.nodes()),
            ("replicas", replicas),
            ("sentinels", sentinels),
            ("clients", 2),
        ]);
        // A token is worth something only if the resource compares it.
        let fencing = match spec.gives_tokens() {
            true => "reads-and-writes",
            false => "none",
        };
        let resource = VecMap::from([("fencing", fencing)]);
        let network = Network {
            latency_ms: self.environment.network.latency_ms.clone(),
            loss: self.environment.network.loss,
        };
        let give_up_ms = (GIVES_UP_LEASES * self.lease.0).max(GIVES_UP_MS);
        let workload = VecMap::from([("give_up_ms", give_up_ms as u64)]);
        let value = |value: Result<Value, toml::ser::Error>| {
            value.map_err(|error| wrong(error.to_string()))
        };
        let table: Table = [
            ("title", value(Value::try_from("One grant"))?),
            ("topology", value(Value::try_from(topology))?),
            ("lock", Value::Table(lock)),
            ("resource", value(Value::try_from(resource))?),
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

    /// The row of the lock.
    pub(crate) fn row(&self) -> Result<LockRow, SetupError> {
        LockRow::called(&self.lock)
    }

    /// So many runs, or a tenth of them and at least a hundred where each takes as long as ten others: where the servers
    /// of the lock talk to each other all the time, or the lease is so long that clients try hundreds of times.
    ///
    /// # Errors
    ///
    /// If the lock is unknown.
    pub fn affordable_runs(&self, runs: u64) -> Result<u64, SetupError> {
        let are_long = self.row()?.has_talking_servers() || !self.retry_delays_ms()?.is_empty();
        Ok(match are_long {
            true => (runs / 10).max(100),
            false => runs,
        })
    }

    /// What the lock calls its lease.
    ///
    /// # Errors
    ///
    /// If the lock is unknown.
    pub fn term(&self) -> Result<Term, SetupError> {
        Ok(self.row()?.term())
    }
}

/// Anything as a TOML value in one line.
pub fn inline(value: &impl Serialize) -> String {
    Value::try_from(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}
