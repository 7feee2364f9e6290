//! `redisson-multi`: Redisson's `RedissonMultiLock`, as its release 3.23.5 has it.
//!
//! One `redisson` lock on each of N independent nodes; all of them are needed. The steps are in
//! `redisson/multi_lock.rs`. Release: one after the other; the first failure ends it.

use std::rc::Rc;

use super::multi_lock::{self, Kind, MultiLock};
use super::params::{LISTENS, NO_REPLICA, WATCHDOG_STOPS};
use crate::algorithm::{Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::DynLock;
use locklab_env::Env;
use locklab_history::Name;
use locklab_history::Topology;

params! {
    /// The parameters of `redisson-multi`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared().facts(LISTENS, Need::All, &[])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(MultiLock::new(env, nodes, self.shared(), Kind::All))
    }

    fn bound(&self, topology: &Topology) -> Bound {
        multi_lock::bound(&self.shared(), topology.nodes)
    }

    fn check(&self, _: &Topology) -> Result<(), InvalidParams> {
        self.shared().check()
    }

    /// Three, as Redisson's documentation has.
    fn nodes(&self) -> u32 {
        3
    }
}

/// `redisson-multi` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-multi",
    summary: "N independent nodes, Redisson's lock on each, all of them",
    source: "Redisson 3.23.5, RedissonMultiLock",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "lease_ms = LEASE"),
        ("watchdog", "watchdog_ms = LEASE"),
    ],
    libraries: &["Redisson"],
    mutants: &[WATCHDOG_STOPS, NO_REPLICA],
};
