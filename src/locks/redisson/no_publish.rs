//! `redisson-no-publish`: Redisson's lock as blogs copy it, with scripts that take and release
//! the hash but publish nothing.
//!
//! - Acquire, renew, reenter: as `redisson`.
//! - Release: as `redisson`, but without a message.
//! - Wait: for the remaining lease that the attempt returned. A waiter that arrives just after
//!   the holder therefore waits for the whole lease, even if the lock is released long before.

use std::rc::Rc;

use super::hash_lock::{Acquire, HashLock, Release};
use super::params::{NO_REPLICA, POLLS, WATCHDOG_STOPS};
use super::waiting::Waiting;
use crate::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

params! {
    /// The parameters of `redisson-no-publish`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared()
            .facts(POLLS, Need::Nodes(1), &["foreign-release"])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        let scripts = (Acquire::Plain, Release::Silent);
        let (node, shared) = (&nodes[0], self.shared());
        Rc::new(HashLock::new(env, node, shared, scripts, Waiting::Lease))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()
    }
}

/// `redisson-no-publish` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-no-publish",
    summary: "as redisson, but a release tells no waiter: waiters wait for the end of the lease",
    source: "tongjilab.cn, \"Redis分布式锁探究与实现\", the form without SETNX",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
    ],
    libraries: &[],
    mutants: &[WATCHDOG_STOPS, NO_REPLICA],
};
