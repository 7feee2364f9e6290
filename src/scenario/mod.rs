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
use crate::locks::LockSpec;

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
mod workload;

pub use environment::{
    Clocks, Fencing, HostClock, Network, NodeClock, NodeSpec, Persistence, Resource,
};
pub use error::{Place, ScenarioError};
pub use load::{check, load, parse};
pub use locklab_sim::world::dist::Dist;
pub use sentinel::SentinelOptions;
pub use shipped::SHIPPED;
pub use workload::{CheckBeforeWrite, ClientOverride, Ending, Mode, Workload, WorkloadKind};

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

/// Which hosts there are, beside the one named `resource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// Redis nodes, `n1`, `n2`, …; 1 to 99. None knows of the others.
    pub nodes: u32,
    /// Replicas of each node, `n1r1`, `n1r2`, …; 0 to 9.
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: u32,
    /// Sentinels that watch `n1` and its replicas: `s1`, `s2`, … If there are any, the
    /// clients ask them which node is the master.
    #[serde(skip_serializing_if = "is_zero")]
    pub sentinels: u32,
    /// Clients, `c1`, `c2`, …; 1 to 99.
    pub clients: u32,
}

impl Default for Topology {
    fn default() -> Self {
        Topology {
            nodes: 1,
            replicas: 0,
            sentinels: 0,
            clients: 2,
        }
    }
}

impl Topology {
    /// The names of all hosts: clients, nodes, their replicas, sentinels, and
    /// the resource.
    pub fn hosts(&self) -> Vec<String> {
        let clients = (1..=self.clients).map(|i| format!("c{i}"));
        let servers = self.servers().into_iter().map(|server| server.name);
        clients.chain(servers).chain(["resource".into()]).collect()
    }

    /// The nodes, their replicas, and the sentinels.
    pub fn servers(&self) -> Vec<Server> {
        let node = |i: u32| format!("n{i}");
        let nodes = (1..=self.nodes).map(|i| Server {
            name: node(i),
            role: Role::Node,
        });
        let replicas = (1..=self.nodes).flat_map(|i| {
            (1..=self.replicas).map(move |j| Server {
                name: format!("n{i}r{j}"),
                role: Role::Replica { of: node(i) },
            })
        });
        let sentinels = (1..=self.sentinels).map(|i| Server {
            name: format!("s{i}"),
            role: Role::Sentinel,
        });
        nodes.chain(replicas).chain(sentinels).collect()
    }

    /// What the server of this name is, if it is one.
    pub fn role(&self, host: &str) -> Option<Role> {
        let mut servers = self.servers().into_iter();
        servers.find_map(|server| (server.name == host).then_some(server.role))
    }
}

/// A host that serves the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// What it is when the run begins.
    pub role: Role,
}

/// What a server is when the run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A node of its own, the master of its replicas if it has any. Of the locks that are
    /// none on Redis: the database, or a member of the service.
    Node,
    /// Follows a node.
    Replica {
        /// The name of that node.
        of: String,
    },
    /// Watches the nodes and their replicas.
    Sentinel,
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

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A minute, far beyond the leases of seconds that the scenarios use.
fn default_horizon_ms() -> u64 {
    60_000
}

/// Enough that a rate of 1 % has a 95 % interval of about ± 0.6 %.
fn default_seeds() -> u64 {
    1000
}
