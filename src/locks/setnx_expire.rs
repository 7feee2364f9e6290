//! `setnx-expire`: a lease for `setnx`, as a second command.
//!
//! 1. `SETNX lock value`; if the reply is 0, another client has the lock.
//! 2. `EXPIRE lock ttl`, so that the lock of a client that crashes expires.
//! 3. When done, delete the lock.
//!
//! The blog texts "Redis分布式锁探究与实现" and "redisson分布式锁学习" start from it. The first one
//! immediately names the flaw: both commands have to succeed together. A client that stops
//! between them (point `expiring`) leaves a lock without a lease.
//!
//! The lease is given in milliseconds (`PEXPIRE`) where the texts have seconds. They ignore the
//! reply to the second command. The holder's deadline counts from before that command, which is
//! the one that sets the lease.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use super::one_node::{Extend, OneNode, Release, deadline};
use super::{KEY, random_token};
use locklab_env::Env;
use locklab_env::redis::{Error, Reply};
use locklab_history::Topology;
use locklab_history::{ClockKind, Failpoint, Name};

/// `setnx-expire` as one client uses it.
pub struct SetnxExpire<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

impl<E: Env> SetnxExpire<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), 0),
            env,
            params,
        }
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        if !self.node.set_if_absent(&token).await? {
            return Err(LockError::taken("somebody holds it"));
        }
        self.env.reach(Failpoint::Expiring).await;
        let started_ns = self.env.now_ns(self.params.clock);
        expire(&self.node, self.params.ttl_ms).await?;
        Ok(Grant {
            owner: request.owner,
            token,
            deadline: deadline(self.params.clock, started_ns, self.params.ttl_ms),
            fencing_token: None,
        })
    }
}

impl<E: Env> Lock for SetnxExpire<E> {
    async fn connect(&self) {
        self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        self.node.counted(self.take(request).await?).await
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let Params { clock, ttl_ms, .. } = self.params;
        let extend = Extend::CompareExpire;
        self.node.extend(extend, grant, clock, ttl_ms).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.node.release(self.params.release, &grant.token).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

/// Gives the key a lease, even if another client has the lock by now.
pub(super) async fn expire<E: Env>(node: &OneNode<E>, ttl_ms: u64) -> Result<(), Error> {
    let ttl_ms = ttl_ms.to_string();
    let command = [b"PEXPIRE", KEY.as_bytes(), ttl_ms.as_bytes()];
    // The reply, whether there was such a key, is ignored.
    node.ask(&command, Reply::flag).await.map(drop)
}

params! {
    /// The parameters of `setnx-expire`.
    pub struct Params: one_node {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// The client's clock for the deadline.
        clock: ClockKind = (super::CLOCK => "monotonic"),
            "wall | monotonic: which clock of the client the deadline is on";
        /// How the lock is released. The texts that start from this lock then add a comparison of
        /// the value, one with two commands, one in a script.
        release: Release = (Release::Del => "del"),
            "del | get-del | compare-del | watch-del | delex | delifeq";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: match self.release {
                // The node compares and deletes in one step.
                Release::CompareDel => &["foreign-release"],
                _ => &[],
            },
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(SetnxExpire::new(env, &nodes[0], self.clone()))
    }

    /// Assumes that the lock got its lease.
    fn bound(&self, _: &Topology) -> Bound {
        // SETNX, EXPIRE.
        self.shared().bound(Some(self.ttl_ms), 2, 0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)
    }
}

/// `setnx-expire` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "setnx-expire",
    summary: "one node, SETNX, then EXPIRE as a second command",
    source: "blog texts \"Redis分布式锁探究与实现\" and \"redisson分布式锁学习\"",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "ttl_ms = LEASE"),
        (
            "release compare-del",
            "ttl_ms = LEASE\nrelease = \"compare-del\"",
        ),
    ],
    libraries: &[],
    mutants: &[
        ("release=del", "a release deletes whoever holds the lock"),
        (
            "release=get-del",
            "a release deletes what another client took after the comparison",
        ),
    ],
};
