//! `setnx-expire-lua`: `SETNX` and `EXPIRE` in one script, from the blog text
//! "Redis分布式锁探究与实现", which offers it beside `SET NX PX`.
//!
//! - Acquire: a script that sets the key if it is absent and then gives it its lease.
//! - Release: a script that compares the value before it deletes, so that a client that was
//!   suspended, and whose lock has expired, does not delete another client's lock.
//!
//! It should behave exactly as `set-nx-px` does, command by command.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use super::one_node::{Extend, OneNode, Release, deadline};
use super::{KEY, random_token, scripts};
use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Topology;
use locklab_history::{ClockKind, Name};

/// `setnx-expire-lua` as one client uses it.
pub struct SetnxExpireLua<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

impl<E: Env> SetnxExpireLua<E> {
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
        let (token, ttl_ms) = (random_token(&self.env), self.params.ttl_ms.to_string());
        let (keys, arguments) = ([KEY.as_bytes()], [token.as_bytes(), ttl_ms.as_bytes()]);
        let started_ns = self.env.now_ns(self.params.clock);
        let setting = self
            .node
            .run(&scripts::SETNX_EXPIRE, &keys, &arguments, Reply::flag);
        if !setting.await? {
            return Err(LockError::taken("somebody holds it"));
        }
        Ok(Grant {
            owner: request.owner,
            token,
            deadline: deadline(self.params.clock, started_ns, self.params.ttl_ms),
            fencing_token: None,
        })
    }
}

impl<E: Env> Lock for SetnxExpireLua<E> {
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
        self.node.release(Release::CompareDel, &grant.token).await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

params! {
    /// The parameters of `setnx-expire-lua`.
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
            keeps: &["foreign-release"],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(SetnxExpireLua::new(env, &nodes[0], self.clone()))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(Some(self.ttl_ms), algorithm::SCRIPT, 0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)
    }
}

/// `setnx-expire-lua` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "setnx-expire-lua",
    summary: "one node, SETNX and EXPIRE in one script; released by compare and delete",
    source: "blog text \"Redis分布式锁探究与实现\"",
    parameters: Params::PARAMETERS,
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[],
};
