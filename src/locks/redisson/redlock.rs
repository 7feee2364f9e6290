//! `redisson-redlock`: Redisson's `RedissonRedLock`, as its release 3.23.5 has it.
//!
//! One `redisson` lock on each of N independent nodes; N/2 + 1 of them are needed. The steps
//! are in `redisson/multi_lock.rs`. Unlike `redlock`, it has no per-node timeout that is small
//! against the lease, no comparison of the elapsed time with the lease, and no allowance for
//! drift. Release: on all nodes, even if some fail.

use std::rc::Rc;

use super::multi_lock::{self, Kind, MultiLock};
use super::params::{LISTENS, NO_REPLICA, WATCHDOG_STOPS};
use crate::algorithm::{Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

params! {
    /// The parameters of `redisson-redlock`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared().facts(LISTENS, Need::Majority, &[])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(MultiLock::new(env, nodes, self.shared(), Kind::Majority))
    }

    fn bound(&self, topology: &Topology) -> Bound {
        multi_lock::bound(&self.shared(), topology.nodes)
    }

    fn check(&self, _: &Topology) -> Result<(), InvalidParams> {
        self.shared().check()
    }

    /// Five, as the specification of Redlock has.
    fn nodes(&self) -> u32 {
        5
    }
}

/// `redisson-redlock` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-redlock",
    summary: "N independent nodes, Redisson's lock on a majority of them",
    source: "Redisson 3.23.5, RedissonRedLock",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "lease_ms = LEASE"),
        ("watchdog", "watchdog_ms = LEASE"),
    ],
    libraries: &["Redisson"],
    mutants: &[WATCHDOG_STOPS, NO_REPLICA],
};
