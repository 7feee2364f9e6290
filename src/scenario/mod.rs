//! Scenario files: the TOML schema, its validation, overrides and grids.
//!
//! A scenario says everything about a run except its seed: which hosts there are,
//! which lock they use, what they do with it, what goes wrong, and what ought to
//! come of it. This module is the schema; [`load()`] reads it from a file, applies
//! overrides and refuses what is impossible; [`grid`] makes variants of one scenario.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::Property;
use crate::evidence::Prediction;
use crate::fault::FaultSpec;
use crate::history::Topology;
use crate::locks::LockSpec;
use crate::workload::{Resource, Workload};

mod document;
mod environment;
mod error;
mod explain;
pub mod grid;
mod load;
mod overrides;
mod sentinel;
mod shipped;
mod validate;

pub use environment::{Clocks, HostClock, Network, NodeClock, NodeSpec, Persistence};
pub use error::{Place, ScenarioError};
pub use load::{check, load, parse};
pub use sentinel::SentinelOptions;
pub use shipped::SHIPPED;

/// One scenario file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its path below `scenarios/` without `.toml`, such as `kleppmann/k1`. It comes
    /// from where the file lies, not from what it says.
    #[serde(skip)]
    pub name: String,
    /// The claim under test in a few words, for headings.
    pub title: String,
    /// The claim's number in the catalogue of claims: `K1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Who claimed it, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What was claimed, what this run does, and what to look for.
    #[serde(default)]
    pub about: String,
    /// The run ends here at the latest, in milliseconds of true time.
    #[serde(default = "default_horizon_ms")]
    pub horizon_ms: u64,
    /// The hosts.
    #[serde(default)]
    pub topology: Topology,
    /// What every Redis node is told when it starts.
    #[serde(default, skip_serializing_if = "NodeSpec::is_default")]
    pub node: NodeSpec,
    /// The lock and its parameters.
    pub lock: LockSpec,
    /// What the clients do with it.
    #[serde(default)]
    pub workload: Workload,
    /// What the lock protects.
    #[serde(default)]
    pub resource: Resource,
    /// The network between the hosts.
    #[serde(default)]
    pub network: Network,
    /// How far the hosts' clocks are off.
    #[serde(default)]
    pub clocks: Clocks,
    /// What the sentinels are told, where there are any.
    #[serde(default)]
    pub sentinel: SentinelOptions,
    /// What goes wrong: one table `[fault.NAME]` each.
    #[serde(default)]
    pub fault: BTreeMap<String, FaultSpec>,
    /// How long, in milliseconds, a lock that nobody holds may be wanted in vain; absent:
    /// what follows from the lock's parameters and the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ms: Option<u64>,
    /// The property that the scenario is about: its rate and its shortest violation
    /// are what a demonstration shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Property>,
    /// What is expected of each property, over all runs together.
    #[serde(default)]
    pub expect: BTreeMap<Property, Prediction>,
    /// The grid that a sweep runs over when it is not told another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
}

/// The default grid of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Every cell of the grid runs with the seeds `0..seeds`.
    #[serde(default = "default_seeds")]
    pub seeds: u64,
    /// What varies, as the `--vary` option takes it; see [`grid`].
    #[serde(default)]
    pub vary: Vec<String>,
}

/// A minute, far beyond the leases of seconds that the scenarios use.
fn default_horizon_ms() -> u64 {
    60_000
}

/// Enough that a rate of 1 % has a 95 % interval of about ± 0.6 %.
fn default_seeds() -> u64 {
    1000
}
