//! `redisson-fair`: Redisson's `RFairLock`, as in its release 3.23.5, and with `told` as in
//! newer ones.
//!
//! - The lock is `redisson`'s hash. Beside it there are a queue, a list of the waiters in the
//!   order of their requests, and a sorted set with the time until which each may wait, by the
//!   waiters' own *wall* clocks.
//! - Acquire, a script: a waiter at the head of the queue that has waited too long by the
//!   caller's clock loses its place; if the lock is free and the queue is empty, or headed by
//!   the caller, the caller takes it, and the times of all waiters move closer; if the caller
//!   already has it, the count increases by one; otherwise the caller joins the end of the
//!   queue. It may wait [`Params::fair_wait_ms`] longer than the waiter before it, or than the
//!   lease if there is no such waiter. `tryLock()` without a wait time does not join.
//! - Wait: as `redisson`, but on a channel of the waiter's own, for the time that [`Told`]
//!   determines.
//! - Release, a script: stale heads lose their places here too; the hold is released; with the
//!   last hold the key is deleted and the head of the queue is notified. An expired lease is
//!   not an error, unless another client has the lock by then.
//! - Give up, a script: leave the queue, and move the times of the later waiters closer.
//!
//! No client is notified when a lease expires. Lease, watchdog and retransmission are
//! `redisson`'s.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_values::units::ms_from_ns;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use super::base::{Base, Renewal, freed, left, not_the_owner, taken};
use super::listening::{Listening, UNLOCKED};
use super::names;
use super::params;
use super::waiting::Waiting;
use crate::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, Need};
use crate::lock::{DynLock, Grant, Lock, LockError, Owner, Request};
use crate::{KEY, scripts};
use locklab_env::redis::Reply;
use locklab_env::{Duration, Env};
use locklab_history::Topology;
use locklab_history::{ClockKind, Failpoint, Name};

/// `redisson-fair` as one client uses it.
pub struct RedissonFair<E: Env> {
    base: Base<E>,
    fair_wait_ms: u64,
    told: Told,
    waiters: RefCell<VecMap<Owner, Waiter<E>>>,
}

/// An owner of this process that has requested the lock and does not have it yet.
struct Waiter<E: Env> {
    /// For how long its place is kept, in milliseconds.
    wait_ms: u64,
    waiting: Rc<Waiting<E>>,
}

impl<E: Env> RedissonFair<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: &Params) -> Self {
        Self {
            base: Base::new(env, node, KEY, params.shared(), Renewal::OF_THE_KEY),
            fair_wait_ms: params.fair_wait_ms,
            told: params.told,
            waiters: RefCell::default(),
        }
    }

    /// For how long a place in the queue is kept, in milliseconds: the caller's initial wait
    /// time, if it is not zero. `None`: the caller does not join the queue.
    fn wait_ms(&self, request: Request) -> Option<u64> {
        if let Some(wait_ms) = self.place_kept_ms(request.owner) {
            return Some(wait_ms);
        }
        let wait_ms = match request.wait {
            None => self.fair_wait_ms,
            Some(Duration::ZERO) => return None,
            Some(patience) => (patience.as_millis() as u64).max(1),
        };
        let channel = format!(
            "{}:{}",
            names::channel(&self.base.key),
            self.base.holder(request.owner)
        );
        let (env, node) = (self.base.env.clone(), self.base.node.once().node().clone());
        let listening = Listening::new(env, node, channel, &[UNLOCKED]);
        let waiting = Rc::new(Waiting::Listening(listening));
        let waiter = Waiter { wait_ms, waiting };
        self.waiters.borrow_mut().insert(request.owner, waiter);
        Some(wait_ms)
    }

    /// For how long this owner's place is kept, in milliseconds, if it waits.
    fn place_kept_ms(&self, owner: Owner) -> Option<u64> {
        let waiters = self.waiters.borrow();
        waiters.get(&owner).map(|waiter| waiter.wait_ms)
    }

    /// How this owner waits, if it does.
    fn waiting(&self, owner: Owner) -> Option<Rc<Waiting<E>>> {
        let waiters = self.waiters.borrow();
        waiters.get(&owner).map(|waiter| waiter.waiting.clone())
    }

    /// Removes an owner that has the lock, or has given up.
    async fn forget(&self, owner: Owner) {
        let waiter = self.waiters.borrow_mut().remove(&owner);
        if let Some(waiter) = waiter {
            waiter.waiting.end(owner).await;
        }
    }

    /// The process's wall clock, in milliseconds.
    fn now_ms(&self) -> String {
        ms_from_ns(self.base.env.now_ns(ClockKind::Wall)).to_string()
    }

    /// The lock, the queue, and the waiters' times.
    fn keys(&self) -> [String; 3] {
        let key = &self.base.key;
        [
            key.clone(),
            names::prefixed("redisson_lock_queue", key),
            names::prefixed("redisson_lock_timeout", key),
        ]
    }
}

impl<E: Env> Lock for RedissonFair<E> {
    async fn connect(&self) {
        self.base.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let base = &self.base;
        let wait_ms = self.wait_ms(request);
        let told = match wait_ms {
            None => "once",
            Some(_) => self.told.word(),
        };
        let arguments = [
            &*base.lease_ms(),
            &base.holder(request.owner),
            &wait_ms.unwrap_or(self.fair_wait_ms).to_string(),
            &self.now_ms(),
            told,
        ];
        let keys = self.keys();
        let started_ns = params::now_ns(&base.env);
        let keys = keys.each_ref().map(|key| &**key);
        let script = &scripts::REDISSON_FAIR_ACQUIRE;
        match base.node.run(script, &keys, &arguments, left).await? {
            None => {
                self.forget(request.owner).await;
                Ok(base.granted(request.owner, started_ns, None))
            }
            Some(wait_ms) => Err(taken(wait_ms)),
        }
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        let Base { env, shared, .. } = &self.base;
        let interval = Duration::from_millis(shared.resend.interval_ms);
        match self.waiting(request.owner) {
            Some(waiting) => waiting.wait(env, request, failed, interval).await,
            None => request.pass(env, interval).await,
        }
    }

    async fn give_up(&self, request: Request) {
        let owner = request.owner;
        if let Some(wait_ms) = self.place_kept_ms(owner) {
            let [_, queue, times] = self.keys();
            let arguments = [&*self.base.holder(owner), &wait_ms.to_string()];
            let node = &self.base.node;
            // If this fails, the queue keeps the place until its time is over.
            let _ = node
                .run(
                    &scripts::REDISSON_FAIR_GIVE_UP,
                    &[&queue, &times],
                    &arguments,
                    Reply::integer,
                )
                .await;
            self.forget(owner).await;
        }
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        self.base.extend(grant).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let base = &self.base;
        base.env.reach(Failpoint::Deleting).await;
        let [lock, queue, times] = self.keys();
        let channel = names::channel(&base.key);
        let arguments = [UNLOCKED, &base.lease_ms(), &grant.token, &self.now_ms()];
        let keys = [&*lock, &queue, &times, &channel];
        let script = &scripts::REDISSON_FAIR_RELEASE;
        let reply = base.node.run(script, &keys, &arguments, freed).await;
        base.end_renewal(grant.owner);
        reply?.ok_or_else(not_the_owner)
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.base.is_held(grant).await
    }
}

params! {
    /// The parameters of `redisson-fair`.
    pub struct Params: redisson {
        /// By how much the time of a waiter's place in the queue exceeds that of the waiter
        /// before it, in milliseconds, if the waiter gave no wait time: Redisson's
        /// `fairLockWaitTimeout`. It was 5000 before release 3.13.3.
        fair_wait_ms: u64 = 300000,
            "how much longer a place in the queue is kept than the one before it";
        /// The wait time that a repeated request returns.
        told: Told = (Told::Place => "place"),
            "place | lease: how long a waiter in the queue waits before it asks again";
    }
}

/// The wait time that a repeated request of a waiter in the queue returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The time for which the waiters before it may still wait, or the remaining lease when the
    /// waiter joined. After that the returned time is in the past, and the waiter waits for a
    /// message only, as for a lock without a lease: Redisson 3.23.5.
    #[default]
    Place,
    /// The remaining lease of the holder, or 0 if there is no holder: newer releases. While the
    /// lock is free for the first waiter, the others retry immediately.
    Lease,
}

impl Told {
    /// The script's word for it.
    fn word(self) -> &'static str {
        match self {
            Told::Place => "place",
            Told::Lease => "lease",
        }
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        self.shared().facts(params::LISTENS, Need::Nodes(1), &[])
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(RedissonFair::new(env, &nodes[0], self))
    }

    /// The same as for `redisson`: a waiter behind a client that died may wait longer.
    fn bound(&self, _: &Topology) -> Bound {
        self.shared().bound(0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()
    }
}

/// `redisson-fair` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson-fair",
    summary: "one node, a queue of waiters, each with its own channel",
    source: "Redisson 3.23.5, RFairLock; told = \"lease\" in newer releases",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
        (
            "newer release",
            "watchdog_ms = LEASE\non_error = \"retry\"\ntold = \"lease\"",
        ),
    ],
    libraries: &["Redisson"],
    mutants: &[
        params::WATCHDOG_STOPS,
        params::NO_REPLICA,
        (
            "told=place",
            "a waiter asks again only after the place before it is over",
        ),
    ],
};
