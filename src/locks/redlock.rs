//! `redlock`: a majority of N independent nodes, after redis.io, "Distributed locks
//! with Redis", section "The Redlock algorithm".
//!
//! 1. Get the current time.
//! 2. Try to take the lock on all N nodes with one random value, waiting for each no
//!    longer than a timeout that is small against the TTL.
//! 3. Compute the time elapsed since step 1. The lock is acquired if and only if a
//!    majority granted it and the elapsed time is less than the validity time.
//! 4. Its validity is the TTL minus the elapsed time, minus an allowance for drift.
//! 5. If it was not acquired, release it on all nodes, also on those that seemed not
//!    to have granted it.
//!
//! Every clause that the debate is about is a parameter.

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use super::lock::{AcquireError, ExtendError, Grant, Lock, Retry};
use super::{CatalogueEntry, KEY, random_owner};
use crate::env::{Duration, Env};
use crate::history::{ClockKind, Deadline, Name};
use crate::redis::{Client, Error, Reply, Script};

/// `redlock` as one client uses it.
pub struct Redlock<E: Env> {
    env: E,
    nodes: Vec<Client<E>>,
    params: Params,
    compare_delete: Script,
    compare_expire: Script,
}

impl<E: Env> Redlock<E> {
    /// A client of the lock on `nodes`.
    pub fn new(env: E, nodes: &[Name], params: Params) -> Self {
        let limit = Some(Duration::from_millis(params.node_timeout_ms));
        let client = |node: &Name| Client::new(env.clone(), node.clone(), limit);
        Self {
            nodes: nodes.iter().map(client).collect(),
            env,
            params,
            compare_delete: Script::new(include_str!("scripts/compare_delete.lua")),
            compare_expire: Script::new(include_str!("scripts/compare_expire.lua")),
        }
    }

    fn quorum(&self) -> usize {
        self.params
            .quorum
            .map_or(self.nodes.len() / 2 + 1, |quorum| quorum as usize)
    }

    /// Steps 3 and 4: the deadline of a lease asked for at `started_ns`, if it was
    /// granted in time.
    fn validity(&self, started_ns: u64) -> Option<Deadline> {
        let now_ns = self.env.now_ns(self.params.clock);
        let ttl_ns = self.params.ttl_ms * 1_000_000;
        let drift_ns = (ttl_ns as f64 * self.params.drift_factor) as u64
            + self.params.drift_extra_ms * 1_000_000;
        let counted_from_ns = if self.params.elapsed_check {
            started_ns
        } else {
            now_ns
        };
        let at_ns = (counted_from_ns + ttl_ns).saturating_sub(drift_ns);
        (at_ns > now_ns).then_some(Deadline {
            clock: self.params.clock,
            at_ns,
        })
    }

    /// Step 2: asks the nodes as [`Order`] says; whether each granted.
    async fn ask_all(&mut self, owner: &str) -> Vec<Result<bool, Error>> {
        let ttl_ms = self.params.ttl_ms.to_string();
        let command = [
            b"SET",
            KEY.as_bytes(),
            owner.as_bytes(),
            b"NX",
            b"PX",
            ttl_ms.as_bytes(),
        ];
        let command = &command;
        let ask = async |node: &mut Client<E>| Ok(node.call(command).await?.is_ok());
        in_order(self.params.order, &mut self.nodes, ask).await
    }

    /// Deletes the lock where it still carries `owner`; how many keys that were.
    async fn release_on(&mut self, owner: &str, wanted: impl Fn(usize) -> bool) -> u32 {
        let script = &self.compare_delete;
        let chosen = self
            .nodes
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| wanted(*index));
        let ask = async |node: &mut Client<E>| {
            script
                .call(node, &[KEY.as_bytes()], &[owner.as_bytes()])
                .await
        };
        let replies = in_order(self.params.order, chosen.map(|(_, node)| node), ask).await;
        // A node that cannot be reached now lets the key expire.
        replies
            .iter()
            .flatten()
            .filter_map(Reply::integer)
            .sum::<i64>() as u32
    }
}

impl<E: Env> Lock for Redlock<E> {
    async fn connect(&mut self) {
        join_all(self.nodes.iter_mut().map(Client::connect)).await;
    }

    async fn try_acquire(&mut self) -> Result<Grant, AcquireError> {
        let owner = random_owner(&self.env);
        let started_ns = self.env.now_ns(self.params.clock);
        let answers = self.ask_all(&owner).await;
        let granted: Vec<bool> = answers.iter().map(|a| matches!(a, Ok(true))).collect();
        let grants = granted.iter().filter(|granted| **granted).count();
        let validity = self.validity(started_ns);
        if let Some(deadline) = validity
            && grants >= self.quorum()
        {
            return Ok(Grant {
                owner,
                deadline: Some(deadline),
                fencing_token: None,
            });
        }
        match self.params.release_on_failure {
            ReleaseOnFailure::All => self.release_on(&owner, |_| true).await,
            ReleaseOnFailure::Acquired => self.release_on(&owner, |index| granted[index]).await,
            ReleaseOnFailure::None => 0,
        };
        Err(AcquireError::NotAcquired(match validity {
            Some(_) => format!("{grants} of {} nodes granted it", self.nodes.len()),
            None => "acquiring took longer than the lease is valid".into(),
        }))
    }

    /// Sets a new lease on every node that still knows the grant; it counts if a
    /// majority did so in time.
    async fn extend(&mut self, grant: &Grant) -> Result<Grant, ExtendError> {
        let ttl_ms = self.params.ttl_ms.to_string();
        let arguments = [grant.owner.as_bytes(), ttl_ms.as_bytes()];
        let script = &self.compare_expire;
        let started_ns = self.env.now_ns(self.params.clock);
        let ask =
            async |node: &mut Client<E>| script.call(node, &[KEY.as_bytes()], &arguments).await;
        let replies = in_order(self.params.order, &mut self.nodes, ask).await;
        let extended = replies
            .iter()
            .flatten()
            .filter(|reply| reply.integer() == Some(1))
            .count();
        match self.validity(started_ns) {
            Some(deadline) if extended >= self.quorum() => Ok(Grant {
                deadline: Some(deadline),
                ..grant.clone()
            }),
            _ => Err(ExtendError::Lost(format!(
                "{extended} nodes extended it in time"
            ))),
        }
    }

    async fn release(&mut self, grant: &Grant) -> Result<u32, Error> {
        self.env.reach("deleting").await;
        Ok(self.release_on(&grant.owner, |_| true).await)
    }

    fn retry(&self) -> Retry {
        Retry {
            delay_ms: self.params.retry_delay_ms,
            jitter_ms: self.params.retry_jitter_ms,
        }
    }
}

/// Asks nodes one after the other, or all at once; the answers in the nodes' order.
async fn in_order<'a, E: Env, T>(
    order: Order,
    nodes: impl IntoIterator<Item = &'a mut Client<E>>,
    ask: impl AsyncFn(&mut Client<E>) -> T,
) -> Vec<T> {
    match order {
        Order::Parallel => join_all(nodes.into_iter().map(|node| ask(node))).await,
        Order::Sequential => {
            let mut answers = Vec::new();
            for node in nodes {
                answers.push(ask(node).await);
            }
            answers
        }
    }
}

/// The parameters of `redlock`, each of them somebody's claim in the debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How many nodes must grant; absent: N/2 + 1.
    #[serde(default)]
    pub quorum: Option<u32>,
    /// How long to wait for one node, connection included, in milliseconds. The
    /// specification: small against the TTL, 5 to 50 ms for a TTL of 10 s.
    #[serde(default = "default_node_timeout_ms")]
    pub node_timeout_ms: u64,
    /// Which clock measures the time that acquiring took.
    #[serde(default = "default_wall_clock")]
    pub clock: ClockKind,
    /// Whether the time that acquiring took is measured and counted against the lease
    /// (steps 3 and 4). Without it a client believes in a full TTL from the moment
    /// that it has a majority.
    #[serde(default = "default_true")]
    pub elapsed_check: bool,
    /// Share of the TTL allowed for clock drift.
    #[serde(default = "default_drift_factor")]
    pub drift_factor: f64,
    /// Added to the drift allowance, in milliseconds: Redis's expiry is that precise.
    #[serde(default = "default_drift_extra_ms")]
    pub drift_extra_ms: u64,
    /// Ask the nodes in turn, or all at once.
    #[serde(default)]
    pub order: Order,
    /// What to release after an attempt that failed (step 5).
    #[serde(default)]
    pub release_on_failure: ReleaseOnFailure,
    /// Wait before the next attempt, in milliseconds.
    #[serde(default = "super::default_retry_delay_ms")]
    pub retry_delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    #[serde(default = "super::default_retry_jitter_ms")]
    pub retry_jitter_ms: u64,
}

/// In which order the nodes are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, as the specification says.
    #[default]
    Sequential,
    /// All at once, as it recommends ("multiplexing").
    Parallel,
}

/// What a failed attempt gives back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseOnFailure {
    /// Every node, also one that seemed not to grant.
    #[default]
    All,
    /// The nodes that granted.
    Acquired,
    /// Nothing.
    None,
}

fn default_node_timeout_ms() -> u64 {
    50
}

/// The specification's step 1 gets "the current time in milliseconds", and most
/// implementations take the time of day.
fn default_wall_clock() -> ClockKind {
    ClockKind::Wall
}

fn default_true() -> bool {
    true
}

fn default_drift_factor() -> f64 {
    0.01
}

fn default_drift_extra_ms() -> u64 {
    2
}

/// `redlock` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redlock",
    summary: "a majority of N independent nodes, with a validity time",
    parameters: &[
        ("ttl_ms", "required", "the lease"),
        ("quorum", "N/2 + 1", "how many nodes must grant"),
        (
            "node_timeout_ms",
            "50",
            "how long to wait for one node, connection included",
        ),
        (
            "clock",
            "wall",
            "wall | monotonic: which clock measures the elapsed time",
        ),
        (
            "elapsed_check",
            "true",
            "count the time that acquiring took against the lease",
        ),
        (
            "drift_factor",
            "0.01",
            "share of the TTL allowed for clock drift",
        ),
        ("drift_extra_ms", "2", "added to the drift allowance"),
        (
            "order",
            "sequential",
            "sequential | parallel: ask the nodes in turn or all at once",
        ),
        (
            "release_on_failure",
            "all",
            "all | acquired | none: what a failed attempt gives back",
        ),
        ("retry_delay_ms", "200", "wait before the next attempt"),
        (
            "retry_jitter_ms",
            "50",
            "up to this much more, drawn anew each time",
        ),
    ],
};
