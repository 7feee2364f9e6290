//! `redisson-read-write`: Redisson's `RReadWriteLock`, as in its release 3.23.5.
//!
//! - The lock is a hash. Its field `mode` is `read` or `write`; the other fields are the
//!   holders, `client-uuid:thread-id` for a reader and the same with `:write` for the writer,
//!   with the number of their holds. Each hold of a reader also has a key of its own, which
//!   expires with the hold's lease.
//! - Acquire to read, a script: succeeds if the lock is free, if others read, or if the caller
//!   itself writes. The lock's lease is then the longer of the remaining one and the caller's.
//! - Acquire to write, a script: succeeds if the lock is free, or the caller already writes; in
//!   the latter case the caller's lease is *added* to the remaining one. A reader that also
//!   asks to write waits for itself.
//! - Wait: as `redisson`; readers and writers subscribe to one channel.
//! - Release of a reader's hold, a script: if others remain, the lock's lease is set to the
//!   longest of the readers'; otherwise the key is deleted and a message wakes one of the
//!   waiters.
//! - Release of the writer's hold, a script: with the last hold the key is deleted, and a
//!   message wakes all waiters; but if the writer also reads, the lock continues in the mode
//!   `read`, without a message.
//! - Neither is an error if the lease was over and the lock is free.
//! - Lease, watchdog and retransmission are `redisson`'s. The renewal for one reader renews the
//!   holds of all readers.
//!
//! A waiting writer does not keep new readers out.

use std::rc::Rc;

use super::base::{Base, Renewal, left, taken};
use super::listening::{Listening, UNLOCKED};
use super::names;
use super::params;
use super::waiting::Waiting;
use crate::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::{DynLock, Grant, Lock, LockError, Mode, Request};
use crate::{KEY, scripts};
use locklab_env::{Duration, Env};
use locklab_history::Name;
use locklab_history::Topology;

/// The message that the writer's release publishes (`LockPubSub.READ_UNLOCK_MESSAGE`).
const ALL_MAY_COME: &str = "1";

/// The suffix that distinguishes a writer's field from a reader's.
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
            writers: readers.with_suffix(WRITES, Renewal::OF_THE_KEY),
            readers,
            waiting: Waiting::Listening(listening),
        }
    }

    /// The lock in this mode.
    fn base(&self, mode: Mode) -> &Base<E> {
        match mode {
            Mode::Exclusive => &self.writers,
            Mode::Shared => &self.readers,
        }
    }
}

impl<E: Env> Lock for RedissonReadWrite<E> {
    async fn connect(&self) {
        // Readers and writers share their connections.
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

/// The mode in which the lock was granted.
fn mode_of(grant: &Grant) -> Mode {
    match grant.token.ends_with(WRITES) {
        true => Mode::Exclusive,
        false => Mode::Shared,
    }
}

/// The channel to which all waiters subscribe.
fn channel() -> String {
    names::prefixed("redisson_rwlock", KEY)
}

/// The prefix of the keys of all readers' holds (`suffixName` of `RedissonObject`).
fn holds() -> String {
    format!("{{{KEY}}}")
}

/// The prefix of the keys of one reader's holds; the number of the hold follows it.
fn holds_of(holder: &str) -> String {
    format!("{}:{holder}:rwlock_timeout", holds())
}

params! {
    /// The parameters of `redisson-read-write`.
    pub struct Params: redisson {}
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared()
            .facts(params::LISTENS, Need::Nodes(1), &["foreign-release"])
    }

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
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
    ],
    libraries: &["Redisson"],
    mutants: &[params::WATCHDOG_STOPS, params::NO_REPLICA],
};
