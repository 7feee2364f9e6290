//! The entry of each lock in the catalogue, and the rules for its parameters.

use std::rc::Rc;

use serde::Serialize;

use super::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

/// A parameter in the catalogue: its name, its default and its purpose.
pub type Parameter = (&'static str, &'static str, &'static str);

/// A mistake in a lock: the parameter that makes it, as after `--set lock.`, and what is wrong.
pub type Mutant = (&'static str, &'static str);

/// The parameters of a lock, and the properties derived from them.
pub trait Algorithm {
    /// The lock as one process uses it, on these nodes.
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock>
    where
        Self: Sized;

    /// What the checks, situations and searches ask of it.
    fn facts(&self) -> Facts;

    /// How long a client that keeps trying may wait for a lock whose last holder is gone, with
    /// or without a release.
    fn bound(&self, topology: &Topology) -> Bound;

    /// Whether these parameters are valid with these hosts.
    ///
    /// # Errors
    /// The first invalid parameter.
    fn check(&self, _topology: &Topology) -> Result<(), InvalidParams> {
        Ok(())
    }

    /// On how many nodes the matrix and the cost table run it.
    fn nodes(&self) -> u32 {
        1
    }

    /// The kind of servers it uses.
    fn servers(&self) -> Servers {
        Servers::Redis
    }

    /// Whether grants carry a fencing token.
    fn gives_tokens(&self) -> bool {
        false
    }

    /// Whether the client asks the resource for a token before it has the lock.
    fn asks_resource(&self) -> bool {
        false
    }
}

/// What a lock says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// How long a grant lasts without an extension, in milliseconds; `None` for a lock without a lease.
    pub lease_ms: Option<u64>,
    /// Whether its user is told until when a grant lasts, by a clock of the client.
    pub tells_deadline: bool,
    /// Whether a client that is refused listens for its turn (it reaches the point `waiting`).
    pub listens: bool,
    /// How the nodes hold it for a client, or why they do not tell for whom they hold it.
    pub held: Result<Held, &'static str>,
    /// The names of the properties that no fault makes it violate, by its design: `cargo xtask campaign` searches for a
    /// run that does.
    pub keeps: &'static [&'static str],
}

/// How the nodes hold a lock for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The servers that must hold the lock for a client.
    pub need: Need,
    /// The form of the key.
    pub shape: Shape,
}

impl Held {
    /// Nodes that tell for whom they hold the lock.
    pub const fn by(need: Need, shape: Shape) -> Result<Held, &'static str> {
        Ok(Held { need, shape })
    }
}

/// How many nodes must hold a lock for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// This many.
    Nodes(u32),
    /// More than half.
    Majority,
    /// All of them.
    All,
}

impl Need {
    /// The number of them.
    pub fn of(self, topology: &Topology) -> usize {
        let all = topology.nodes as usize;
        match self {
            Need::Nodes(nodes) => nodes as usize,
            Need::Majority => all / 2 + 1,
            Need::All => all,
        }
    }
}

/// The form of a lock's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A string: whoever set it is the holder.
    Text,
    /// A hash: whoever added a field is a holder for as long as the field exists. The field `mode`
    /// has no holder.
    Hash,
}

/// Why the nodes do not tell who holds a lock whose value every client sets.
pub(super) const OVERWRITTEN: &str =
    "a client that fails to get the lock overwrites its holder's value";

/// Why no node of Redis tells who holds a lock.
pub(super) const NOT_ON_REDIS: &str = "the lock is not on Redis";

/// The longest wait for a free lock of a client that keeps trying.
///
/// The worst case is the same for all locks: the last holder dies just after its command was
/// executed; an attempt is refused just before the lease is over; the client then waits for the
/// maximum time, and its next attempt gets the lock. This makes two attempts, a lease and a
/// wait. The duration of a round trip depends on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The part that clocks measure, in milliseconds: the lease, with the possible delay of its
    /// expiry, and the longest wait between two attempts.
    pub by_clock_ms: u64,
    /// How many replies of servers the client waits for, one after the other.
    pub round_trips: u32,
    /// The time lost on servers that do not answer, in milliseconds: the client's timeouts, and
    /// its back-off before each retransmission.
    pub time_outs_ms: u64,
    /// How long the client waits for one reply, in milliseconds; `None`: for ever.
    pub reply_ms: Option<u64>,
}

/// A lost connection is opened again, once, which takes a round trip.
pub(super) const CONNECTING: u32 = 1;

/// A script that its node does not know yet is sent a second time, in full.
pub(super) const SCRIPT: u32 = 2;

/// The maximum time from the end of a lease to the deletion of its key, in milliseconds: Redis
/// counts whole milliseconds.
pub(super) const EXPIRY_MS: u64 = 1;

/// The kind of servers that a lock uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Servers {
    /// Redis servers.
    Redis,
    /// One relational database; on real servers PostgreSQL.
    Database,
    /// The members of a replicated coordination service; on real servers ZooKeeper.
    Consensus,
}

/// The description of a lock, for a person who chooses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CatalogueEntry {
    /// Its name in a scenario.
    pub name: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// Its author or origin.
    pub source: &'static str,
    /// Its parameters with their defaults and meanings.
    pub parameters: &'static [Parameter],
    /// The forms that the matrix tests against the problems. Each has a label that
    /// distinguishes it (empty for the most common form), and its parameters in TOML, where
    /// `LEASE` stands for the lease in milliseconds.
    pub forms: &'static [(&'static str, &'static str)],
    /// The libraries of which it is a port: `tests/ports/` compares the two on the wire.
    pub libraries: &'static [&'static str],
    /// The mistakes that its parameters can express, and that a suite of scenarios should notice.
    pub mutants: &'static [Mutant],
}

/// A parameter that is well formed but invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidParams {
    /// Its path in the scenario: `["lock", "ttl_ms"]`.
    pub path: [&'static str; 2],
    /// The reason why it is invalid.
    pub why: String,
}

/// Returns an error with `path` and `why` unless `possible`.
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

/// Checks the topology of a lock on one node, `n1`.
pub(super) fn one_node(name: &str, topology: &Topology) -> Result<(), InvalidParams> {
    let nodes = topology.nodes;
    require(
        nodes == 1,
        ["topology", "nodes"],
        format!("\"{name}\" locks on one node, not on {nodes}"),
    )
}

/// Checks the topology of a lock whose servers are not Redis.
pub(super) fn no_replicas(name: &str, topology: &Topology) -> Result<(), InvalidParams> {
    require(
        topology.replicas == 0 && topology.sentinels == 0,
        ["topology", "replicas"],
        format!("the servers of \"{name}\" are not Redis: they have no replicas and no sentinels"),
    )
}

/// Checks the lease of a lock that has one.
pub(super) fn lease(ttl_ms: u64) -> Result<(), InvalidParams> {
    require(
        ttl_ms > 0,
        ["lock", "ttl_ms"],
        "a lease of 0 ms is over before it begins; write 1 or more",
    )
}

/// Checks the retransmissions of a client.
pub(super) fn resend(times: u32) -> Result<(), InvalidParams> {
    require(
        times <= MAX_RESENDS,
        ["lock", "resend"],
        format!("a command is sent again at most {MAX_RESENDS} times, not {times}"),
    )
}

/// Ten times the default of the clients in use.
const MAX_RESENDS: u32 = 100;
