//! `redisson-spin`: Redisson's `RSpinLock`, for locks that are taken too often to publish a
//! message for each release.
//!
//! - Acquire, renew, reenter: as `redisson`.
//! - Release: as `redisson`, but without a message.
//! - Wait: 1 ms, then twice as long each time, with jitter, up to 128 ms.

use std::rc::Rc;

use super::hash_lock::{Acquire, HashLock, Release};
use super::params::{NO_REPLICA, POLLS, WATCHDOG_STOPS};
use super::waiting::{BackOff, Waiting};
use crate::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

params! {
    /// The parameters of `redisson-spin`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared()
            .facts(POLLS, Need::Nodes(1), &["foreign-release"])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        let scripts = (Acquire::Plain, Release::Silent);
        let waiting = Waiting::BackOff(BackOff::default());
        let (node, shared) = (&nodes[0], self.shared());
        Rc::new(HashLock::new(env, node, shared, scripts, waiting))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(BackOff::MAX_MS)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()
    }
}

/// `redisson-spin` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-spin",
    summary: "as redisson, but waiters try again after 1 to 128 ms instead of listening",
    source: "Redisson, RSpinLock with its exponential back-off",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
    ],
    libraries: &["Redisson"],
    mutants: &[WATCHDOG_STOPS, NO_REPLICA],
};
