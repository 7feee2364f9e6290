//! `redisson`: the lock of the Java library Redisson, `RLock`, as in its release 3.23.5, and
//! with `latch` and `on_error` as in newer ones.
//!
//! - The lock is a hash. Its one field is the owner, `client-uuid:thread-id`; the value is the
//!   number of the owner's holds.
//! - Acquire, a script: if there is no such key, or if the field is the caller's, add one hold
//!   and set the lease; otherwise return the holder's remaining lease.
//! - Wait: subscribe to the lock's channel, try again, since the message may have been
//!   published before that, then wait for a message or for the time that the attempt returned,
//!   whichever comes first. For other ways see [`Wait`].
//! - Lease: the user's own; or, if none is given, 30 s, which the watchdog renews every 10 s
//!   for as long as the process lives (`redisson/watchdog.rs`).
//! - Release, a script: if the field is not the caller's, that is an error; remove one hold; if
//!   one remains, set the lease, otherwise delete the key and publish to the channel. The
//!   renewals end in any case.
//! - A command whose reply does not come is sent again (`redisson/resend.rs`).
//! - Where there are replicas, one of them must have the lock (`redisson/replicas.rs`).
//!
//! A grant with a user's own lease has a deadline, counted from before the request. Redisson
//! does not expose it; here a holder can check it. With the watchdog there is no deadline.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::KEY;
use super::algorithm::{
    self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need, require,
};
use super::lock::DynLock;
use hash_lock::{Acquire, HashLock, Release};
use locklab_env::{Duration, Env};
use locklab_history::Name;
use locklab_history::Topology;
use waiting::Waiting;

pub mod fair;
pub mod fenced;
pub mod multi;
pub mod no_publish;
pub mod read_write;
pub mod redlock;
pub mod spin;

mod base;
mod hash_lock;
mod listening;
mod member;
mod multi_lock;
mod names;
pub(super) mod params;
mod replicas;
pub(super) mod resend;
mod waiting;
pub(super) mod watchdog;

pub use watchdog::OnError;

params! {
    /// The parameters of `redisson`.
    pub struct Params: redisson {
        /// Whether the answer to a release is kept for a retransmission of the release:
        /// Redisson since 3.24.1.
        latch: bool = false, "keep the answer to a release, for a repeated request";
        /// How a waiter learns that the lock is free.
        wait: Wait = (Wait::Publish => "publish"),
            "publish | keyspace | spin: how a waiter learns that the lock is free";
        /// The sleep between two attempts with `wait = "spin"`, in milliseconds: as Redisson's
        /// `retryInterval`.
        spin_ms: u64 = 1500, "the sleep between attempts with wait = \"spin\"";
    }
}

/// How a waiter learns that the lock is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// From the message that the release publishes: what Redisson does.
    #[default]
    Publish,
    /// From Redis's keyspace notifications for the key, which are off unless the node is
    /// configured to send them; deletion and expiry count. Some texts say that Redisson does
    /// this.
    Keyspace,
    /// Not at all; it sleeps and tries again. "Attempts × sleep" is this together with
    /// `workload.give_up_ms`. The same is said of Redisson, whose setting of that name applies
    /// to commands that were not answered.
    Spin,
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared().facts(
            self.wait != Wait::Spin,
            Need::Nodes(1),
            &["foreign-release"],
        )
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        let node = &nodes[0];
        let waiting = match self.wait {
            Wait::Publish => Waiting::publish(&env, node, KEY),
            Wait::Keyspace => Waiting::keyspace(&env, node, KEY),
            Wait::Spin => Waiting::Sleep(Duration::from_millis(self.spin_ms)),
        };
        let scripts = (Acquire::Plain, Release::with_latch(self.latch));
        Rc::new(HashLock::new(env, node, self.shared(), scripts, waiting))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(match self.wait {
            Wait::Publish | Wait::Keyspace => 0,
            Wait::Spin => self.spin_ms,
        })
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()?;
        require(
            self.spin_ms > 0,
            ["lock", "spin_ms"],
            "a waiter that sleeps for 0 ms lets no time pass; write 1 or more",
        )
    }
}

/// `redisson` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson",
    summary: "one node, a hash that counts holds; pub/sub wakes waiters, a watchdog renews",
    source: "Redisson 3.23.5, RLock; latch since 3.24.1, on_error = \"retry\" since 3.43",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
        (
            "newer release",
            "watchdog_ms = LEASE\non_error = \"retry\"\nlatch = true",
        ),
    ],
    libraries: &["Redisson"],
    mutants: &[params::WATCHDOG_STOPS, params::NO_REPLICA],
};
