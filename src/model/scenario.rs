//! Scenario files: the TOML schema, its validation, overrides and grids.
//!
//! A scenario determines everything about a run except its seed: the hosts, the lock, the
//! workload, the faults, and the expected results. This module is the schema; [`load()`] reads
//! a scenario from a file, applies overrides and rejects invalid ones; [`grid`] makes variants
//! of one scenario.

use locklab_vecmap::VecMap;
use serde::{Deserialize, Deserializer, Serialize};

use crate::fault::FaultSpec;
use crate::workload::{Resource, Workload};
use locklab_check::Property;
use locklab_env::redis::ClientOptions;
use locklab_evidence::Prediction;
use locklab_history::Topology;
use locklab_locks::{LockSpec, Servers};
use locklab_results::Observable;
use locklab_values::untrusted;

mod campaign;
mod cluster;
mod document;
mod environment;
mod error;
mod expectations;
mod explain;
pub mod grid;
mod json;
mod load;
mod measured;
mod names;
mod overrides;
mod sentinel;
mod shipped;
mod source;
mod sweep_axis;
mod time_scale;
mod type_errors;
mod validate;

pub use campaign::{Campaign, Drawn};
pub use cluster::ClusterOptions;
pub use environment::{
    Clocks, Commit, HostClock, Imitate, Network, NodeClock, NodeSpec, Persistence,
};
pub use error::{Place, ScenarioError, did_you_mean, nearest};
pub use load::{
    check, check_for_programs, load, load_for_programs, parse, parse_for_programs, read,
};
pub use sentinel::SentinelOptions;
pub use shipped::SHIPPED;
pub use source::Source;
pub use sweep_axis::{AxisSpec, axis};
pub use time_scale::Scale;

/// One scenario file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its path below `scenarios/` without `.toml`, such as `kleppmann/k1`. It is derived from
    /// the file's location, not from its content.
    #[serde(skip)]
    pub name: String,
    /// The overrides with which it was loaded, each `path=value`. They are applied already.
    #[serde(skip)]
    pub overrides: Vec<String>,
    /// The claim under test in a few words, for headings: one line.
    #[serde(deserialize_with = "one_line")]
    pub title: String,
    /// The claim's number in the catalogue of claims: `K1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The author of the claim, and where it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The claim, the course of a run, and the signs to look for.
    #[serde(default)]
    pub about: String,
    /// The run ends here at the latest, in milliseconds of true time.
    #[serde(default = "default_horizon_ms")]
    pub horizon_ms: u64,
    /// The hosts.
    #[serde(default)]
    pub topology: Topology,
    /// The configuration of every Redis node.
    #[serde(default, skip_serializing_if = "NodeSpec::is_default")]
    pub node: NodeSpec,
    /// The lock and its parameters.
    pub lock: LockSpec,
    /// The work of the clients.
    #[serde(default)]
    pub workload: Workload,
    /// How the clients treat their connections to Redis servers.
    #[serde(default, skip_serializing_if = "ClientOptions::is_default")]
    pub client: ClientOptions,
    /// The resource that the lock protects.
    #[serde(default)]
    pub resource: Resource,
    /// The network between the hosts.
    #[serde(default)]
    pub network: Network,
    /// The errors of the hosts' clocks.
    #[serde(default)]
    pub clocks: Clocks,
    /// The configuration of the sentinels, if there are any.
    #[serde(default)]
    pub sentinel: SentinelOptions,
    /// If given, the nodes and their replicas are one Redis Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterOptions>,
    /// The faults: one table `[fault.NAME]` each.
    #[serde(default)]
    pub fault: VecMap<String, FaultSpec>,
    /// The longest time, in milliseconds, that a client may wait for a free lock; absent:
    /// derived from the lock's parameters and the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ms: Option<u64>,
    /// How long the lock has to recover after its last fault, in milliseconds; then the property
    /// `recovery` is judged, and otherwise not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
    /// If given, each seed draws its own hosts, network and faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<Campaign>,
    /// The property that the scenario is about: a demonstration shows its rate and its shortest
    /// violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Property>,
    /// The prediction for each property, over all runs together.
    #[serde(default)]
    pub expect: VecMap<Property, Prediction>,
    /// The known differences on real Redis.
    #[serde(default, rename = "on-redis", skip_serializing_if = "Option::is_none")]
    pub on_redis: Option<OnRedis>,
    /// The default grid of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
}

impl Scenario {
    /// How the clients treat their connections to the servers of the lock. `[client]` describes
    /// Redis libraries; what talks to a database or a consensus service here is plain.
    pub fn client_options(&self) -> ClientOptions {
        match self.lock.servers() {
            Servers::Redis => self.client,
            Servers::Database | Servers::Consensus => ClientOptions::PLAIN,
        }
    }
}

/// Where a scenario's rates or durations differ on real Redis, or depend on the machine, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnRedis {
    /// The properties whose rates differ.
    #[serde(default)]
    pub differs: Vec<Property>,
    /// The properties whose rates depend on the machine, within milliseconds: they are shown beside
    /// those of the simulator, and no bound is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unbounded: Vec<Property>,
    /// The durations that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durations: Vec<Observable>,
    /// The reason, in words.
    pub why: String,
}

/// The default grid of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Every cell of the grid runs with the seeds `0..seeds`.
    #[serde(default = "default_seeds")]
    pub seeds: u64,
    /// The axes, in the form of the `--vary` option; see [`grid`].
    #[serde(default)]
    pub vary: Vec<String>,
    /// How charts show a varied parameter, by its path.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub axis: VecMap<String, AxisSpec>,
}

fn one_line<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    String::deserialize(input).map(|text| untrusted::line(&text))
}

/// A minute, far longer than the leases of seconds that the scenarios use.
fn default_horizon_ms() -> u64 {
    60_000
}

/// Enough for a 95 % interval of about ± 0.6 % at a rate of 1 %.
fn default_seeds() -> u64 {
    1000
}
