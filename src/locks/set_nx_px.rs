//! `set-nx-px`: the lock on one node that redis.io describes under "Correct
//! implementation with a single instance".
//!
//! - Acquire: `SET lock token NX PX ttl`. The token is random, one for each grant.
//! - Extend: a script sets the lease anew if the value is still the token.
//! - Release: four ways are in circulation, see [`Release`]; redis.io's is the script
//!   that compares before it deletes.
//!
//! With `wait_replicas` the client asks with WAIT, after the SET, how many replicas have
//! it, and gives it back if they are too few.
//!
//! The holder may act until its own clock has advanced by the TTL since *before* it
//! sent the `SET`: the node started the lease later than that.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::algorithm::{self, Algorithm, CatalogueEntry, Impossible, require};
use super::lock::{DynLock, Grant, Lock, LockError, Request, Retry};
use super::{KEY, PATIENCE_MS, random_token};
use crate::env::{Duration, Env};
use crate::history::{ClockKind, Deadline, Name};
use crate::redis::{Client, Error, Reply, Script};
use crate::scenario::Topology;

/// Where the fencing tokens are counted.
const COUNTER: &str = "lock:token";

/// `set-nx-px` as one client uses it.
pub struct SetNxPx<E: Env> {
    env: E,
    node: Client<E>,
    params: Params,
    set_with_token: Script,
    compare_delete: Script,
    compare_expire: Script,
}

impl<E: Env> SetNxPx<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        let limit = params.timeout_ms.map(Duration::from_millis);
        Self {
            node: Client::new(env.clone(), node.clone(), limit),
            env,
            params,
            set_with_token: Script::new(include_str!("scripts/set_with_token.lua")),
            compare_delete: Script::new(include_str!("scripts/compare_delete.lua")),
            compare_expire: Script::new(include_str!("scripts/compare_expire.lua")),
        }
    }

    /// `WAIT`: the lock counts once enough replicas have it. Else it is given back.
    async fn wait_for_replicas(&self, grant: &Grant) -> Result<(), LockError> {
        let wanted = self.params.wait_replicas;
        let (replicas, timeout_ms) = (wanted.to_string(), self.params.wait_timeout_ms.to_string());
        let command = [b"WAIT", replicas.as_bytes(), timeout_ms.as_bytes()];
        let reply = self.node.call(&command).await?;
        let have = reply.integer().unwrap_or(0);
        if have >= i64::from(wanted) {
            return Ok(());
        }
        let arguments = [grant.token.as_bytes()];
        self.compare_delete
            .call(&self.node, &[KEY.as_bytes()], &arguments)
            .await?;
        Err(LockError::taken(format!(
            "{have} of {wanted} replicas have it"
        )))
    }

    fn deadline(&self, started_ns: u64) -> Option<Deadline> {
        Some(Deadline {
            clock: self.params.clock,
            at_ns: started_ns + self.params.ttl_ms * 1_000_000,
        })
    }
}

impl<E: Env> Lock for SetNxPx<E> {
    async fn connect(&self) {
        // If this fails, so will the first attempt, and say why.
        let _ = self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        let ttl_ms = self.params.ttl_ms.to_string();
        let (key, value, ttl) = (KEY.as_bytes(), token.as_bytes(), ttl_ms.as_bytes());
        let started_ns = self.env.now_ns(self.params.clock);
        let reply = if self.params.fencing_token {
            let keys = [key, COUNTER.as_bytes()];
            self.set_with_token
                .call(&self.node, &keys, &[value, ttl])
                .await?
        } else {
            self.node
                .call(&[b"SET", key, value, b"NX", b"PX", ttl])
                .await?
        };
        let fencing_token = match reply {
            Reply::Nil => return Err(LockError::taken("somebody holds it")),
            reply => reply.integer().map(|number| number as u64),
        };
        let grant = Grant {
            owner: request.owner,
            token,
            deadline: self.deadline(started_ns),
            fencing_token,
        };
        if self.params.wait_replicas > 0 {
            self.wait_for_replicas(&grant).await?;
        }
        Ok(grant)
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.params.retry().wait(&self.env, request).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let ttl_ms = self.params.ttl_ms.to_string();
        let started_ns = self.env.now_ns(self.params.clock);
        let arguments = [grant.token.as_bytes(), ttl_ms.as_bytes()];
        let reply = self
            .compare_expire
            .call(&self.node, &[KEY.as_bytes()], &arguments)
            .await?;
        if reply.integer() != Some(1) {
            return Err(lost());
        }
        Ok(Grant {
            deadline: self.deadline(started_ns),
            ..grant.clone()
        })
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let (key, token) = (KEY.as_bytes(), grant.token.as_bytes());
        let (env, node) = (&self.env, &self.node);
        let deleted = match self.params.release {
            Release::Del => {
                // It never asks whose lock it is, so it never learns that it was lost.
                return Ok(count(&del(env, node, key).await?));
            }
            Release::GetDel => match node.call(&[b"GET", key]).await? {
                Reply::Bulk(value) if value == token => del(env, node, key).await?,
                _ => return Err(lost()),
            },
            Release::CompareDel => {
                env.reach("deleting").await;
                self.compare_delete.call(node, &[key], &[token]).await?
            }
            Release::WatchDel => watch_del(env, node, key, token).await?,
        };
        match count(&deleted) {
            0 => Err(lost()),
            deleted => Ok(deleted),
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let value = self.node.call(&[b"GET", KEY.as_bytes()]).await?;
        Ok(matches!(value, Reply::Bulk(value) if value == grant.token.as_bytes()))
    }
}

fn lost() -> LockError {
    LockError::Lost("the lock is no longer ours".into())
}

/// How many keys a command says that it deleted.
fn count(reply: &Reply) -> u32 {
    reply.integer().unwrap_or(0) as u32
}

/// Deletes the key, whatever it holds.
async fn del<E: Env>(env: &E, node: &Client<E>, key: &[u8]) -> Result<Reply, Error> {
    env.reach("deleting").await;
    node.call(&[b"DEL", key]).await
}

/// Deletes the key in a transaction that fails if anybody touches it meanwhile.
async fn watch_del<E: Env>(
    env: &E,
    node: &Client<E>,
    key: &[u8],
    token: &[u8],
) -> Result<Reply, Error> {
    let mut node = node.exclusively().await;
    node.call(&[b"WATCH", key]).await?;
    match node.call(&[b"GET", key]).await? {
        Reply::Bulk(value) if value == token => {}
        _ => {
            node.call(&[b"UNWATCH"]).await?;
            return Ok(Reply::Integer(0));
        }
    }
    node.call(&[b"MULTI"]).await?;
    node.call(&[b"DEL", key]).await?;
    env.reach("deleting").await;
    // Nil: the key changed after WATCH, so the transaction did nothing.
    Ok(match node.call(&[b"EXEC"]).await? {
        Reply::Array(mut replies) if replies.len() == 1 => replies.remove(0),
        _ => Reply::Integer(0),
    })
}

/// The parameters of `set-nx-px`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// Which clock of the client the deadline is on.
    #[serde(default = "super::default_clock")]
    pub clock: ClockKind,
    /// How the lock is given back.
    #[serde(default)]
    pub release: Release,
    /// Whether a grant carries a fencing token: `INCR` of a counter beside the lock,
    /// in the script that takes the lock.
    #[serde(default)]
    pub fencing_token: bool,
    /// How many replicas must have the lock before it counts (`WAIT`); 0: it does not
    /// matter.
    #[serde(default, skip_serializing_if = "is_default_wait_replicas")]
    pub wait_replicas: u32,
    /// For how long to wait for them, in milliseconds; 0: for ever.
    #[serde(
        default = "default_wait_timeout_ms",
        skip_serializing_if = "is_default_wait_timeout_ms"
    )]
    pub wait_timeout_ms: u64,
    /// Wait before the next attempt, in milliseconds.
    #[serde(default = "super::default_retry_delay_ms")]
    pub retry_delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    #[serde(default = "super::default_retry_jitter_ms")]
    pub retry_jitter_ms: u64,
    /// How long the client waits for a connection or a reply, in milliseconds;
    /// absent: for ever.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl Params {
    fn retry(&self) -> Retry {
        Retry {
            delay_ms: self.retry_delay_ms,
            jitter_ms: self.retry_jitter_ms,
        }
    }
}

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(SetNxPx::new(env, &nodes[0], self.clone()))
    }

    fn bound_ms(&self, _: &Topology) -> u64 {
        let attempt_ms = self.timeout_ms.unwrap_or(PATIENCE_MS);
        self.ttl_ms + self.retry().longest_ms() + attempt_ms
    }

    fn check(&self, topology: &Topology) -> Result<(), Impossible> {
        algorithm::one_node(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)?;
        let (wanted, replicas) = (self.wait_replicas, topology.replicas);
        require(
            wanted <= replicas,
            ["lock", "wait_replicas"],
            format!("the node has {replicas} replicas, so {wanted} never have the lock"),
        )?;
        algorithm::node_timeout(self.timeout_ms)
    }

    fn gives_tokens(&self) -> bool {
        self.fencing_token
    }
}

/// 1 s: what Redisson's locks wait for replicas.
fn default_wait_timeout_ms() -> u64 {
    1000
}

fn is_default_wait_replicas(replicas: &u32) -> bool {
    *replicas == 0
}

fn is_default_wait_timeout_ms(timeout_ms: &u64) -> bool {
    *timeout_ms == default_wait_timeout_ms()
}

/// The four ways to release in circulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// `DEL`, whoever's lock it is by now.
    Del,
    /// `GET`, compare, `DEL`: two commands.
    GetDel,
    /// Compare and delete in one script.
    #[default]
    CompareDel,
    /// `WATCH`, `GET`, `MULTI`, `DEL`, `EXEC`.
    WatchDel,
}

/// `set-nx-px` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "set-nx-px",
    summary: "one node, SET key token NX PX ttl; released in one of four ways",
    source: "redis.io, \"Distributed locks with Redis\", the single instance",
    parameters: &[
        ("ttl_ms", "required", "the lease"),
        (
            "clock",
            "monotonic",
            "wall | monotonic: which clock of the client the deadline is on",
        ),
        (
            "release",
            "compare-del",
            "del | get-del | compare-del | watch-del",
        ),
        (
            "fencing_token",
            "false",
            "draw a token in the script that takes the lock",
        ),
        (
            "wait_replicas",
            "0",
            "the lock counts once so many replicas have it (WAIT)",
        ),
        (
            "wait_timeout_ms",
            "1000",
            "how long to wait for them; 0: for ever",
        ),
        ("retry_delay_ms", "200", "wait before the next attempt"),
        (
            "retry_jitter_ms",
            "50",
            "up to this much more, drawn anew each time",
        ),
        (
            "timeout_ms",
            "none",
            "give up waiting for the node after this",
        ),
    ],
    forms: &[
        ("", "ttl_ms = LEASE"),
        ("release del", "ttl_ms = LEASE\nrelease = \"del\""),
        ("release get-del", "ttl_ms = LEASE\nrelease = \"get-del\""),
        ("release watch-del", "ttl_ms = LEASE\nrelease = \"watch-del\""),
        ("with token", "ttl_ms = LEASE\nfencing_token = true"),
    ],
};
