//! `setnx-expire-repair`: the lock of the blog text "分析redis锁的实现原理", which is the one in Josiah
//! Carlson's book "Redis in Action", section 6.2.
//!
//! - Acquire: `SETNX` with a random UUID of 128 bits; if that succeeds, `EXPIRE`. If it fails,
//!   check the lock's expiry (`TTL`), and set one if there is none: the lock of a client that
//!   crashed between the two commands (point `expiring`) gets its lease from the next client
//!   that tries. "Since several clients would set about the same expiry, it does not matter if
//!   several do."
//! - An acquire retries until a deadline, ten seconds in the text. Here the caller decides how
//!   long it tries: `workload.give_up_ms`.
//! - Release: a transaction, `WATCH`, `GET`, `MULTI`, `DEL`, `EXEC`.
//!
//! What the text does not consider: a holder is delayed between its two commands, while another
//! client gives the lock a lease and that lease expires. The holder's `EXPIRE` then finds the
//! key of a third client, extends that client's lease, and receives a normal reply.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use super::one_node::{Extend, OneNode, Release, deadline};
use super::setnx_expire::expire;
use super::{KEY, random_token};
use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Topology;
use locklab_history::{ClockKind, Failpoint, Name};

/// The reply of `PTTL` for a key without expiry.
const NO_EXPIRY: i64 = -1;

/// `setnx-expire-repair` as one client uses it.
pub struct SetnxExpireRepair<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

impl<E: Env> SetnxExpireRepair<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), 0),
            env,
            params,
        }
    }

    /// Gives a lease to a lock that has none.
    async fn repair(&self) -> Result<(), LockError> {
        let command = [b"PTTL", KEY.as_bytes()];
        if self.node.ask(&command, Reply::integer).await? == NO_EXPIRY {
            expire(&self.node, self.params.ttl_ms).await?;
        }
        Ok(())
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        if !self.node.set_if_absent(&token).await? {
            self.repair().await?;
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

impl<E: Env> Lock for SetnxExpireRepair<E> {
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
        self.node.release(Release::WatchDel, &grant.token).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

params! {
    /// The parameters of `setnx-expire-repair`.
    pub struct Params: one_node {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// The client's clock for the deadline.
        clock: ClockKind = (super::CLOCK => "monotonic"),
            "wall | monotonic: which clock of the client the deadline is on";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &[],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(SetnxExpireRepair::new(env, &nodes[0], self.clone()))
    }

    /// The lease counts from the first attempt of another client, which repairs the lock; that
    /// attempt adds a wait of its own.
    fn bound(&self, _: &Topology) -> Bound {
        // SETNX, TTL, EXPIRE.
        let commands = 3;
        let from_the_repair = self.shared().bound(Some(self.ttl_ms), commands, 0);
        Bound {
            by_clock_ms: from_the_repair.by_clock_ms + self.shared().retry.longest_ms(),
            round_trips: from_the_repair.round_trips + commands,
            ..from_the_repair
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)
    }
}

/// `setnx-expire-repair` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "setnx-expire-repair",
    summary: "one node, SETNX, then EXPIRE; a client that fails gives a lease to a lock without one",
    source: "blog text \"分析redis锁的实现原理\", after Carlson, \"Redis in Action\", 6.2",
    parameters: Params::PARAMETERS,
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[],
};
