//! What the catalogue knows of every lock.

use std::rc::Rc;

use serde::Serialize;

use super::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

/// The parameters of a lock, and what follows from them.
pub trait Algorithm {
    /// The lock as one process uses it, on these nodes.
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock>;

    /// What somebody who keeps asking waits for until he has a lock whose last holder is
    /// gone, with or without releasing it.
    fn bound(&self, topology: &Topology) -> Bound;

    /// Whether these parameters are possible, with these hosts.
    ///
    /// # Errors
    /// The first that is not.
    fn check(&self, topology: &Topology) -> Result<(), InvalidParams>;

    /// On how many nodes the matrix and the cost table set it up.
    fn nodes(&self) -> u32 {
        1
    }

    /// What its nodes are.
    fn servers(&self) -> Servers {
        Servers::Redis
    }

    /// Whether grants carry a fencing token.
    fn gives_tokens(&self) -> bool {
        false
    }

    /// Whether the resource is asked for something before the lock is had: the token.
    fn asks_resource(&self) -> bool {
        false
    }
}

/// What a client that keeps asking for a free lock may have to wait for, at the most.
///
/// The worst case is the same for all locks: the last holder dies just after its command
/// was executed; an attempt is refused just before the lease is over; the client waits as
/// long as it ever does, and its next attempt gets the lock. So there are two attempts, a
/// lease and a wait. How long a round trip takes, the network says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// What somebody's clock measures, in milliseconds: the lease, with what its expiry may
    /// be late, and the longest wait between two attempts.
    pub by_clock_ms: u64,
    /// How many answers of servers are waited for, one after the other.
    pub round_trips: u32,
    /// What is lost on servers that do not answer, in milliseconds: the client's time-outs,
    /// and its waits before it sends again.
    pub time_outs_ms: u64,
    /// How long the client waits for one answer, in milliseconds; `None`: for ever.
    pub reply_ms: Option<u64>,
}

/// A connection that was lost is made anew, once, with a round trip of its own.
pub(super) const CONNECTING: u32 = 1;

/// A script that its node does not know yet is sent once more, in full.
pub(super) const SCRIPT: u32 = 2;

/// A key is gone, at the latest, so many milliseconds after its lease: Redis counts in whole
/// ones.
pub(super) const EXPIRY_MS: u64 = 1;

/// What the nodes of a lock are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Servers {
    /// Redis servers.
    Redis,
    /// One relational database, in the world only.
    Database,
    /// The members of a replicated coordination service, in the world only.
    Consensus,
}

/// A lock, for a person who chooses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CatalogueEntry {
    /// How a scenario names it.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Who described it, or whose it is.
    pub source: &'static str,
    /// Its parameters with their defaults and meanings.
    pub parameters: &'static [(&'static str, &'static str, &'static str)],
    /// The forms in which the matrix sets it against the problems: what tells each from the
    /// others (empty for the form that most people use), and its parameters in TOML, where
    /// `LEASE` stands for the lease in milliseconds.
    pub forms: &'static [(&'static str, &'static str)],
}

/// A parameter that is impossible although it is well formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidParams {
    /// Where in the scenario it stands: `["lock", "ttl_ms"]`.
    pub path: [&'static str; 2],
    /// What is wrong with it.
    pub why: String,
}

/// An error unless `possible`.
pub(super) fn require(
    possible: bool,
    path: [&'static str; 2],
    why: impl Into<String>,
) -> Result<(), InvalidParams> {
    match possible {
        true => Ok(()),
        false => Err(InvalidParams {
            path,
            why: why.into(),
        }),
    }
}

/// The check of every lock that lives on one node: `n1`.
pub(super) fn one_node(name: &str, topology: &Topology) -> Result<(), InvalidParams> {
    let nodes = topology.nodes;
    require(
        nodes == 1,
        ["topology", "nodes"],
        format!("\"{name}\" locks on one node, not on {nodes}"),
    )
}

/// The check of every lock whose servers are no Redis.
pub(super) fn no_replicas(name: &str, topology: &Topology) -> Result<(), InvalidParams> {
    require(
        topology.replicas == 0 && topology.sentinels == 0,
        ["topology", "replicas"],
        format!("the servers of \"{name}\" are no Redis: no replicas, no sentinels"),
    )
}

/// The check of every lock with a lease.
pub(super) fn lease(ttl_ms: u64) -> Result<(), InvalidParams> {
    require(
        ttl_ms > 0,
        ["lock", "ttl_ms"],
        "a lease of 0 ms is over before it begins",
    )
}

/// The check of every client that sends a command again.
pub(super) fn resend(times: u32) -> Result<(), InvalidParams> {
    require(
        times <= MOST_RESENDS,
        ["lock", "resend"],
        format!("a command is sent again at most {MOST_RESENDS} times, not {times}"),
    )
}

/// Ten times what the clients in use come with.
const MOST_RESENDS: u32 = 100;
