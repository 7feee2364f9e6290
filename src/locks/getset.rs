//! `getset`: the lock of redis.io's page on `SETNX`, whose value is the time at which it
//! expires; the blog text "redis实现分布式锁" (2018) means this one.
//!
//! 1. `SETNX lock <now + timeout + 1>`; if the reply is 1, the caller has the lock.
//! 2. Otherwise `GET lock`. If that time is not past, another client has the lock.
//! 3. If it is past, the holder has crashed: `GETSET lock <now + timeout + 1>`. If the old
//!    value is still a time in the past, the caller has the lock. If not, another client was
//!    faster: start again. The loser has overwritten the winner's value with a slightly later
//!    time, which "is not a problem".
//! 4. The holder checks the clock before it deletes the lock: if its time is over, another
//!    client may have the lock.
//!
//! The page's wrong takeover is available too: `DEL` and `SETNX` in place of step 3.
//!
//! The node expires nothing. Every client compares with its own wall clock, so correctness
//! depends on synchronised clocks. The times are in milliseconds where the page has seconds.
//! Its `1` stays: at the deadline itself no client considers the time past yet.

use std::rc::Rc;

use locklab_values::units::{ms_from_ns, ns_from_ms};
use serde::{Deserialize, Serialize};

use super::KEY;
use super::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, OVERWRITTEN};
use super::lock::{DynLock, Grant, Lock, LockError, Owner, Request};
use super::one_node::{OneNode, lost};
use locklab_env::redis::Reply;
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// `getset` as one client uses it.
pub struct Getset<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

impl<E: Env> Getset<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), 0),
            env,
            params,
        }
    }

    fn now_ms(&self) -> u64 {
        ms_from_ns(self.env.now_ns(ClockKind::Wall))
    }

    fn expiry_ms(&self) -> u64 {
        self.now_ms() + self.params.ttl_ms + 1
    }

    /// Step 3: takes over a lock whose time is past; returns the new expiry.
    async fn take_over(&self) -> Result<u64, LockError> {
        self.env.reach(Failpoint::Overwriting).await;
        let (now_ms, expiry_ms) = (self.now_ms(), self.expiry_ms());
        let value = expiry_ms.to_string();
        let has_won = match self.params.takeover {
            Takeover::Getset => {
                let command = [b"GETSET", KEY.as_bytes(), value.as_bytes()];
                match self.node.ask(&command, Reply::value).await? {
                    // It was deleted meanwhile, so the lock was free.
                    None => true,
                    Some(old) => expiry_of(&old)? < now_ms,
                }
            }
            Takeover::DelSetnx => {
                self.node
                    .ask(&[b"DEL", KEY.as_bytes()], Reply::count)
                    .await?;
                self.node.set_if_absent(&value).await?
            }
        };
        match has_won {
            true => Ok(expiry_ms),
            false => Err(LockError::taken("another was faster to take it over")),
        }
    }

    /// Whether the holder's time is over, by its own clock.
    fn is_over(&self, grant: &Grant) -> Result<bool, LockError> {
        Ok(expiry_of(&grant.token)? <= self.now_ms())
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let mut expiry_ms = self.expiry_ms();
        if !self.node.set_if_absent(&expiry_ms.to_string()).await? {
            let Some(seen) = self.node.value().await? else {
                return Err(LockError::taken("it was given back this moment"));
            };
            let (seen_ms, now_ms) = (expiry_of(&seen)?, self.now_ms());
            if seen_ms >= now_ms {
                return Err(LockError::NotAcquired {
                    why: "somebody holds it".into(),
                    free_in: Some(Duration::from_millis(seen_ms - now_ms)),
                });
            }
            expiry_ms = self.take_over().await?;
        }
        Ok(granted(request.owner, expiry_ms))
    }
}

impl<E: Env> Lock for Getset<E> {
    async fn connect(&self) {
        self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        self.node.counted(self.take(request).await?).await
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    /// The page has no extension. This one works as its release does: if the holder's time is
    /// not over by its clock, it writes a new one.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        if self.is_over(grant)? {
            return Err(lost());
        }
        let expiry_ms = self.expiry_ms();
        let value = expiry_ms.to_string();
        let command: [&[u8]; 4] = [b"SET", KEY.as_bytes(), value.as_bytes(), b"XX"];
        match self.node.ask(&command, Reply::set).await? {
            true => Ok(granted(grant.owner, expiry_ms)),
            false => Err(lost()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let deleted = match self.params.release {
            Release::CheckTime if self.is_over(grant)? => 0,
            Release::CheckTime => self.node.delete().await?,
            Release::Del => return self.node.delete().await,
            Release::CompareDel => {
                self.env.reach(Failpoint::Deleting).await;
                self.node.compare_delete(&grant.token).await?
            }
        };
        match deleted {
            0 => Err(lost()),
            deleted => Ok(deleted),
        }
    }

    /// Whether the value is the one that this client wrote; a loser of step 3 may have
    /// overwritten it.
    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

fn granted(owner: Owner, expiry_ms: u64) -> Grant {
    Grant {
        owner,
        token: expiry_ms.to_string(),
        deadline: Some(Deadline {
            clock: ClockKind::Wall,
            at_ns: ns_from_ms(expiry_ms),
        }),
        fencing_token: None,
    }
}

/// The expiry that a value represents, in milliseconds since the Unix epoch.
fn expiry_of(value: &str) -> Result<u64, LockError> {
    let no_time = |_| LockError::taken("the key holds something that is no time");
    value.parse().map_err(no_time)
}

params! {
    /// The parameters of `getset`.
    pub struct Params: one_node {
        /// The timeout after which other clients may take the lock over, in milliseconds.
        ttl_ms: u64 = required, "the time after which others may take it over";
        /// How a lock whose time is past is taken over.
        takeover: Takeover = (Takeover::default() => "getset"),
            "getset | del-setnx: how an expired lock is taken over";
        /// How the lock is released.
        release: Release = (Release::default() => "check-time"), "check-time | del | compare-del";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Err(OVERWRITTEN),
            keeps: &[],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(Getset::new(env, &nodes[0], self.clone()))
    }

    /// Assumes synchronised clocks.
    fn bound(&self, _: &Topology) -> Bound {
        // SETNX, GET, GETSET.
        self.shared().bound(Some(self.ttl_ms), 3, 0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)
    }
}

/// How a lock whose time is past is taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takeover {
    /// `GETSET`, and a check of the old value.
    #[default]
    Getset,
    /// `DEL`, `SETNX`: what the page warns of (claim S1).
    DelSetnx,
}

/// How the lock is released.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Check the clock; `DEL` if the holder's time is not over.
    #[default]
    CheckTime,
    /// `DEL` without a check (claim S3).
    Del,
    /// Compare with the value that the holder wrote, and delete, in one script, as other locks
    /// do. A loser of step 3 may have overwritten that value.
    CompareDel,
}

/// `getset` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "getset",
    summary: "one node, SETNX with the time of expiry as value; taken over with GETSET",
    source: "redis.io, \"SETNX\", \"Handling deadlocks\"",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "ttl_ms = LEASE"),
        (
            "taken over by DEL",
            "ttl_ms = LEASE\ntakeover = \"del-setnx\"",
        ),
        ("release del", "ttl_ms = LEASE\nrelease = \"del\""),
    ],
    libraries: &[],
    mutants: &[
        (
            "takeover=del-setnx",
            "an expired lock is deleted before it is taken over, by whoever sees it",
        ),
        ("release=del", "a release deletes whoever holds the lock"),
    ],
};
