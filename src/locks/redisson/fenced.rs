//! `redisson-fenced`: Redisson's `RFencedLock`.
//!
//! - Acquire: as `redisson`, and the same script increments a counter beside the lock: the
//!   fencing token. An owner that takes the lock again gets another token.
//! - Everything else: as `redisson`. Comparing the tokens is up to the resource.

use std::rc::Rc;

use super::hash_lock::{Acquire, HashLock, Release};
use super::params::{LISTENS, NO_REPLICA, WATCHDOG_STOPS};
use super::waiting::Waiting;
use crate::KEY;
use crate::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

params! {
    /// The parameters of `redisson-fenced`.
    pub struct Params: redisson {
        /// Whether the answer to a release is kept for a retransmission of the release.
        latch: bool = false, "keep the answer to a release, for a repeated request";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared()
            .facts(LISTENS, Need::Nodes(1), &["foreign-release"])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        let scripts = (Acquire::Fenced, Release::with_latch(self.latch));
        let (node, shared) = (&nodes[0], self.shared());
        let waiting = Waiting::publish(&env, node, KEY);
        Rc::new(HashLock::new(env, node, shared, scripts, waiting))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()
    }

    fn gives_tokens(&self) -> bool {
        true
    }
}

/// `redisson-fenced` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-fenced",
    summary: "as redisson, and the script that takes the lock draws a fencing token",
    source: "Redisson, RFencedLock",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
    ],
    libraries: &["Redisson"],
    mutants: &[WATCHDOG_STOPS, NO_REPLICA],
};
