//! `setnx`: the first form of the blog text "redis实现分布式锁" (2018), and of most
//! tutorials before `SET` had options.
//!
//! 1. A sets the lock with `SETNX`, receives 1, and has the lock.
//! 2. B and C receive 0 and try again later.
//! 3. When A is done, it deletes the lock.
//!
//! There is no lease. The text itself names the consequence: if A ends without step 3, no
//! client ever gets the lock again.
//!
//! The value is random rather than the text's `"true"`, so that a client can check whether the
//! lock is its own; a release does not check it.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Need, Shape,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use super::one_node::{OneNode, lost};
use super::random_token;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

/// `setnx` as one client uses it.
pub struct Setnx<E: Env> {
    env: E,
    node: OneNode<E>,
}

impl<E: Env> Setnx<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), params.resend),
            env,
        }
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        match self.node.set_if_absent(&token).await? {
            true => Ok(Grant {
                owner: request.owner,
                token,
                deadline: None,
                fencing_token: None,
            }),
            false => Err(LockError::taken("somebody holds it")),
        }
    }
}

impl<E: Env> Lock for Setnx<E> {
    async fn connect(&self) {
        self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        self.node.counted(self.take(request).await?).await
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    /// There is no lease to extend.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        match self.node.holds(&grant.token).await? {
            true => Ok(grant.clone()),
            false => Err(lost()),
        }
    }

    async fn release(&self, _: &Grant) -> Result<u32, LockError> {
        self.node.delete().await
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

params! {
    /// The parameters of `setnx`.
    pub struct Params: one_node {
    } listed last {
        /// How often a command is sent again when no reply came, though it may have been
        /// executed.
        #[serde(skip_serializing_if = "super::is_zero")]
        resend: u32 = 0, "how often to send a command again if no reply arrives in time";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: None,
            tells_deadline: false,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &[],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(Setnx::new(env, &nodes[0], self.clone()))
    }

    /// Counted from a release: without one no client gets the lock, however long it waits.
    fn bound(&self, _: &Topology) -> Bound {
        // SETNX.
        self.shared().bound(None, 1, self.resend)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::resend(self.resend)
    }
}

/// `setnx` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "setnx",
    summary: "one node, SETNX, and DEL when done; no lease",
    source: "blog text \"redis实现分布式锁\" (2018), the first form",
    parameters: Params::PARAMETERS,
    forms: &[("", "")],
    libraries: &[],
    mutants: &[],
};
