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

use super::algorithm::{self, Algorithm, CatalogueEntry, Impossible};
use super::lock::{DynLock, Grant, Lock, LockError, Mode, Owner, Request};
use super::redisson::base::{freed, not_the_owner, taken, unexpected};
use super::redisson::listening::{Listening, SUBSCRIBE_LIMIT_MS, UNLOCKED};
use super::redisson::names::{self, Identity};
use super::redisson::params::{self, Lease, Shared};
use super::redisson::resend::Resending;
use super::redisson::waiting::Waiting;
use super::redisson::watchdog::{Renew, Watchdog};
use super::{KEY, scripts};
use crate::env::{Duration, Env};
use crate::history::Name;
use crate::redis::{Error, Reply};
use crate::scenario::Topology;

/// What the release of the writer publishes (`LockPubSub.READ_UNLOCK_MESSAGE`).
const ALL_MAY_COME: &str = "1";

/// What tells a writer's field from a reader's.
const WRITES: &str = ":write";

/// `redisson-read-write` as one client uses it.
pub struct RedissonReadWrite<E: Env> {
    env: E,
    shared: Shared,
    node: Rc<Resending<E>>,
    renewals: Rc<Resending<E>>,
    waiting: Waiting<E>,
    holders: Holders,
    readers: Watchdog<E>,
    writers: Watchdog<E>,
}

impl<E: Env> RedissonReadWrite<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: &Params) -> Self {
        let shared = params.shared();
        let holders = Holders(Identity::draw(&env));
        let client = || Rc::new(Resending::new(env.clone(), node.clone(), shared.resend));
        let renewals = client();
        let watchdog = |mode| {
            let renewals = renewals.clone();
            let (holders, lease_ms) = (holders.clone(), shared.lease.ms().to_string());
            let renewing: Renew = Rc::new(move |owner| {
                let renewals = renewals.clone();
                let (holder, lease_ms) = (holders.of(owner, mode), lease_ms.clone());
                Box::pin(async move { renew(&renewals, &holder, &lease_ms).await })
            });
            Watchdog::new(env.clone(), shared.lease.ms(), shared.on_error, renewing)
        };
        let channel = names::prefixed("redisson_rwlock", KEY);
        let wakers = &[UNLOCKED, ALL_MAY_COME];
        let listening = Listening::new(env.clone(), node.clone(), channel, wakers);
        Self {
            readers: watchdog(Mode::Shared),
            writers: watchdog(Mode::Exclusive),
            waiting: Waiting::Listening(listening),
            node: client(),
            renewals,
            holders,
            shared,
            env,
        }
    }

    fn watchdog(&self, mode: Mode) -> &Watchdog<E> {
        match mode {
            Mode::Exclusive => &self.writers,
            Mode::Shared => &self.readers,
        }
    }
}

impl<E: Env> Lock for RedissonReadWrite<E> {
    async fn connect(&self) {
        // If this fails, so will the first command, and say why.
        let _ = self.node.once().connect().await;
        if let Lease::Renewed { .. } = self.shared.lease {
            let _ = self.renewals.once().connect().await;
        }
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let (node, owner) = (&self.node, request.owner);
        let lease_ms = self.shared.lease.ms().to_string();
        let holder = self.holders.of(owner, request.mode);
        let started_ns = params::now_ns(&self.env);
        let reply = match request.mode {
            Mode::Exclusive => {
                node.run(
                    &scripts::REDISSON_WRITE_ACQUIRE,
                    &[KEY],
                    &[&lease_ms, &holder],
                )
                .await
            }
            Mode::Shared => {
                let writer = self.holders.of(owner, Mode::Exclusive);
                let arguments = [&*lease_ms, &holder, &writer];
                let keys = [KEY, &holds_of(&holder)];
                node.run(&scripts::REDISSON_READ_ACQUIRE, &keys, &arguments)
                    .await
            }
        };
        match reply? {
            Reply::Nil => {}
            Reply::Integer(pttl_ms) => return Err(taken(pttl_ms)),
            reply => return Err(unexpected(node, &reply)),
        }
        self.waiting.end(owner).await;
        if let Lease::Renewed { .. } = self.shared.lease {
            self.watchdog(request.mode).watch(owner);
        }
        Ok(Grant {
            owner,
            token: holder,
            deadline: self.shared.lease.deadline(started_ns),
            fencing_token: None,
        })
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        let interval = Duration::from_millis(self.shared.resend.interval_ms);
        self.waiting
            .wait(&self.env, request, failed, interval)
            .await;
    }

    async fn give_up(&self, request: Request) {
        self.waiting.end(request.owner).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let started_ns = params::now_ns(&self.env);
        let lease_ms = self.shared.lease.ms().to_string();
        match renew(&self.node, &grant.token, &lease_ms).await? {
            true => Ok(Grant {
                deadline: self.shared.lease.deadline(started_ns),
                ..grant.clone()
            }),
            false => Err(not_the_owner()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach("deleting").await;
        let (node, holder) = (&self.node, &*grant.token);
        let channel = names::prefixed("redisson_rwlock", KEY);
        let mode = mode_of(holder);
        let reply = match mode {
            Mode::Exclusive => {
                let lease_ms = self.shared.lease.ms().to_string();
                let arguments = [ALL_MAY_COME, &lease_ms, holder];
                node.run(
                    &scripts::REDISSON_WRITE_RELEASE,
                    &[KEY, &channel],
                    &arguments,
                )
                .await
            }
            Mode::Shared => {
                let keys = [KEY, &channel, &holds_of(holder)];
                let arguments = [UNLOCKED, holder, &holds()];
                node.run(&scripts::REDISSON_READ_RELEASE, &keys, &arguments)
                    .await
            }
        };
        self.watchdog(mode).unwatch(grant.owner);
        freed(&reply?)
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let command = [b"HEXISTS", KEY.as_bytes(), grant.token.as_bytes()];
        let reply = self
            .node
            .again(async || self.node.once().call(&command).await);
        Ok(reply.await?.integer() == Some(1))
    }
}

/// Gives a holder a full lease; whether it still has the lock.
async fn renew<E: Env>(node: &Resending<E>, holder: &str, lease_ms: &str) -> Result<bool, Error> {
    let reply = match mode_of(holder) {
        Mode::Exclusive => {
            node.run(&scripts::REDISSON_RENEW, &[KEY], &[lease_ms, holder])
                .await
        }
        Mode::Shared => {
            let arguments = [lease_ms, holder, &holds()];
            node.run(&scripts::REDISSON_READ_RENEW, &[KEY], &arguments)
                .await
        }
    };
    Ok(reply?.integer() == Some(1))
}

/// The owners of this process, as the node knows them.
#[derive(Clone)]
struct Holders(Identity);

impl Holders {
    fn of(&self, owner: Owner, mode: Mode) -> String {
        let holder = self.0.holder(owner);
        match mode {
            Mode::Exclusive => holder + WRITES,
            Mode::Shared => holder,
        }
    }
}

fn mode_of(holder: &str) -> Mode {
    match holder.ends_with(WRITES) {
        true => Mode::Exclusive,
        false => Mode::Shared,
    }
}

/// How the keys of all readers' holds begin (`suffixName` of `RedissonObject`).
fn holds() -> String {
    format!("{{{KEY}}}")
}

/// How the keys of a reader's holds begin; the number of the hold is added.
fn holds_of(holder: &str) -> String {
    format!("{}:{holder}:rwlock_timeout", holds())
}

params::params! {
    /// The parameters of `redisson-read-write`.
    pub struct Params {}
}

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(RedissonReadWrite::new(env, &nodes[0], self))
    }

    fn bound_ms(&self, _: &Topology) -> u64 {
        self.shared().bound_ms(SUBSCRIBE_LIMIT_MS)
    }

    fn check(&self, topology: &Topology) -> Result<(), Impossible> {
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
