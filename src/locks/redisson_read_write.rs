//! `redisson-read-write`: Redisson's `RReadWriteLock`, as its release 3.23.5 has it.
//!
//! - The lock is a hash. Its field `mode` says `read` or `write`; the other fields are the
//!   holders, `client-uuid:thread-id` for a reader and the same with `:write` for the writer,
//!   with how many times each has taken it. Each hold of a reader has a key of its own beside
//!   it, which expires when the hold's lease is over.
//! - Take it to read, a script: if it is free, if others read, or if the caller itself
//!   writes. The lock's lease is then the longer of what is left and the caller's.
//! - Take it to write, a script: if it is free, or the caller writes already; then the
//!   caller's lease is *added* to what is left. A reader that wants to write waits for itself.
//! - Wait: as `redisson`; both kinds listen on one channel.
//! - Give a reader's hold back, a script: if others remain, the lock's lease is set to the
//!   longest of the readers'; else the key is deleted and a message wakes one of those who
//!   wait.
//! - Give the writer's hold back, a script: with the last one the key is deleted, and a
//!   message wakes all; unless the writer also reads: then the lock goes on in the mode
//!   `read`, and nobody is told.
//! - Neither is an error if the lease was over and the lock is free.
//! - Lease, watchdog and resending are `redisson`'s. The renewal of one reader renews the
//!   holds of all.
//!
//! Nothing keeps readers out when a writer waits.

use std::rc::Rc;

use super::algorithm::{self, Algorithm, Bound, CatalogueEntry, InvalidParams};
use super::lock::{DynLock, Grant, Lock, LockError, Mode, Request};
use super::redisson::base::{Base, Renewal, left, taken};
use super::redisson::listening::{Listening, UNLOCKED};
use super::redisson::names;
use super::redisson::params;
use super::redisson::waiting::Waiting;
use super::{KEY, scripts};
use locklab_env::{Duration, Env};
use locklab_history::Name;
use locklab_history::Topology;

/// What the release of the writer publishes (`LockPubSub.READ_UNLOCK_MESSAGE`).
const ALL_MAY_COME: &str = "1";

/// What tells a writer's field from a reader's.
const WRITES: &str = ":write";

/// `redisson-read-write` as one client uses it.
pub struct RedissonReadWrite<E: Env> {
    readers: Base<E>,
    writers: Base<E>,
    waiting: Waiting<E>,
}

impl<E: Env> RedissonReadWrite<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: &Params) -> Self {
        let of_all_readers = Renewal {
            script: &scripts::REDISSON_READ_RENEW,
            more: Some(holds()),
        };
        let wakers = &[UNLOCKED, ALL_MAY_COME];
        let listening = Listening::new(env.clone(), node.clone(), channel(), wakers);
        let readers = Base::new(env, node, KEY, params.shared(), of_all_readers);
        Self {
            writers: readers.marked(WRITES, Renewal::OF_THE_KEY),
            readers,
            waiting: Waiting::Listening(listening),
        }
    }

    /// The lock as it is taken in this mode.
    fn base(&self, mode: Mode) -> &Base<E> {
        match mode {
            Mode::Exclusive => &self.writers,
            Mode::Shared => &self.readers,
        }
    }
}

impl<E: Env> Lock for RedissonReadWrite<E> {
    async fn connect(&self) {
        // They share their connections.
        self.readers.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let (base, owner) = (self.base(request.mode), request.owner);
        let (lease_ms, holder) = (base.lease_ms(), base.holder(owner));
        let started_ns = params::now_ns(&base.env);
        let reply = match request.mode {
            Mode::Exclusive => {
                let script = &scripts::REDISSON_WRITE_ACQUIRE;
                base.node
                    .run(script, &[KEY], &[&lease_ms, &holder], left)
                    .await
            }
            Mode::Shared => {
                let script = &scripts::REDISSON_READ_ACQUIRE;
                let arguments = [&*lease_ms, &holder, &self.writers.holder(owner)];
                let keys = [KEY, &holds_of(&holder)];
                base.node.run(script, &keys, &arguments, left).await
            }
        };
        if let Some(pttl_ms) = reply? {
            return Err(taken(pttl_ms));
        }
        self.waiting.end(owner).await;
        Ok(base.granted(owner, started_ns, None))
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        let Base { env, shared, .. } = &self.readers;
        let interval = Duration::from_millis(shared.resend.interval_ms);
        self.waiting.wait(env, request, failed, interval).await;
    }

    async fn give_up(&self, request: Request) {
        self.waiting.end(request.owner).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        self.base(mode_of(grant)).extend(grant).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let mode = mode_of(grant);
        let (base, holder, channel) = (self.base(mode), &*grant.token, channel());
        match mode {
            Mode::Exclusive => {
                let script = &scripts::REDISSON_WRITE_RELEASE;
                let arguments = [ALL_MAY_COME, &base.lease_ms(), holder];
                base.release(grant, script, &[KEY, &channel], &arguments)
                    .await
            }
            Mode::Shared => {
                let script = &scripts::REDISSON_READ_RELEASE;
                let keys = [KEY, &channel, &holds_of(holder)];
                base.release(grant, script, &keys, &[UNLOCKED, holder, &holds()])
                    .await
            }
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.base(mode_of(grant)).is_held(grant).await
    }
}

/// In which mode the lock was granted.
fn mode_of(grant: &Grant) -> Mode {
    match grant.token.ends_with(WRITES) {
        true => Mode::Exclusive,
        false => Mode::Shared,
    }
}

/// Where all who wait listen.
fn channel() -> String {
    names::prefixed("redisson_rwlock", KEY)
}

/// How the keys of all readers' holds begin (`suffixName` of `RedissonObject`).
fn holds() -> String {
    format!("{{{KEY}}}")
}

/// How the keys of a reader's holds begin; the number of the hold is added.
fn holds_of(holder: &str) -> String {
    format!("{}:{holder}:rwlock_timeout", holds())
}

params! {
    /// The parameters of `redisson-read-write`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(RedissonReadWrite::new(env, &nodes[0], self))
    }

    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()
    }
}

/// `redisson-read-write` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-read-write",
    summary: "one node, a hash with a mode: readers together, or one writer",
    source: "Redisson 3.23.5, RReadWriteLock",
    parameters: params::parameters![],
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
    ],
};
