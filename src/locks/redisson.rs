//! `redisson`: the lock of the Java library Redisson, `RLock`, as its release 3.23.5 has
//! it, and with `latch` and `on_error` as newer ones do.
//!
//! - The lock is a hash. Its one field is the owner, `client-uuid:thread-id`; the value
//!   says how many times the owner has taken it.
//! - Acquire, a script: if there is no such key, or if the field is the caller's, count one
//!   hold more and set the lease; else return what is left of the other's lease.
//! - Wait: subscribe to the lock's channel, try again, since the message may have been
//!   published before that, then wait for a message or for the time that the attempt was
//!   told, whichever is first. For other ways see [`Wait`].
//! - Lease: the user's own; or, if none is given, 30 s, which the
//!   [`watchdog`] renews for as long as the process lives.
//! - Release, a script: if the field is not the caller's, that is an error; count one hold
//!   less; if one remains set the lease, else delete the key and publish to the channel.
//!   Whatever came of it, the renewals end.
//! - A command whose reply does not come is sent again, see [`resend`].
//!
//! A grant of a user's own lease has a deadline, counted from before the request. Redisson
//! gives it to nobody; it is here for those who would look. With the watchdog there is
//! none.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::KEY;
use super::algorithm::{self, Algorithm, CatalogueEntry, Impossible, require};
use super::lock::{DynLock, Grant, Lock, LockError, Request};
use crate::env::{Duration, Env};
use crate::history::Name;
use crate::redis::{Reply, Script};
use crate::scenario::Topology;
use base::{Base, taken, unexpected};
use listening::{Listening, SUBSCRIBE_LIMIT_MS, UNLOCKED};
use names::Identity;

pub(super) mod base;
pub(super) mod listening;
pub(super) mod many;
pub(super) mod member;
pub(super) mod names;
pub(super) mod params;
pub(super) mod resend;
pub(super) mod watchdog;

pub use watchdog::OnError;

/// `redisson` as one client uses it.
pub struct Redisson<E: Env> {
    base: Base<E>,
    channel: String,
    waiting: Waiting<E>,
    acquire: Script,
    release: Release,
}

/// How it waits between two attempts.
enum Waiting<E: Env> {
    Listening(Listening<E>),
    Spinning(Duration),
}

/// The script that gives the lock back.
enum Release {
    Plain(Script),
    Latched(Script),
}

impl<E: Env> Redisson<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: &Params) -> Self {
        let identity = Identity::draw(&env);
        let channel = names::channel(KEY);
        let listening = |channel, wakers| {
            Waiting::Listening(Listening::new(env.clone(), node.clone(), channel, wakers))
        };
        Self {
            waiting: match params.wait {
                Wait::Publish => listening(channel.clone(), &[UNLOCKED]),
                Wait::Keyspace => listening(names::keyspace_channel(KEY), &["del", "expired"]),
                Wait::Spin => Waiting::Spinning(Duration::from_millis(params.spin_ms)),
            },
            base: Base::new(env.clone(), identity, node, KEY, params.shared()),
            channel,
            acquire: Script::new(include_str!("scripts/redisson_acquire.lua")),
            release: match params.latch {
                false => Release::Plain(Script::new(include_str!("scripts/redisson_release.lua"))),
                true => Release::Latched(Script::new(include_str!(
                    "scripts/redisson_release_latched.lua"
                ))),
            },
        }
    }

    /// Its owner has the lock, or has given up.
    async fn stop_listening(&self, request: Request) {
        if let Waiting::Listening(listening) = &self.waiting {
            listening.leave(request.owner).await;
        }
    }

    /// Lets so much time pass, but not more than the caller's patience.
    async fn pass(&self, time: Duration, request: Request) {
        let time = request.wait.map_or(time, |left| time.min(left));
        self.base.env.sleep(time).await;
    }
}

impl<E: Env> Lock for Redisson<E> {
    async fn connect(&self) {
        self.base.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let base = &self.base;
        let arguments = [&*base.lease_ms(), &base.holder(request.owner)];
        let started_ns = params::now_ns(&base.env);
        let keys = [&*base.key];
        let reply = base.node.run(&self.acquire, &keys, &arguments);
        match reply.await? {
            Reply::Nil => {
                self.stop_listening(request).await;
                Ok(base.granted(request.owner, started_ns, None))
            }
            Reply::Integer(pttl_ms) => Err(taken(pttl_ms)),
            reply => Err(unexpected(&base.node, &reply)),
        }
    }

    async fn wait(&self, request: Request, failed: &LockError) {
        // To a user of Redisson this is an exception. Whoever tries again all the same
        // does so as a command is sent again.
        let interval = Duration::from_millis(self.base.shared.resend.interval_ms);
        let LockError::NotAcquired { free_in, .. } = failed else {
            return self.pass(interval, request).await;
        };
        match &self.waiting {
            Waiting::Spinning(time) => self.pass(*time, request).await,
            Waiting::Listening(listening) => {
                if listening.wait(request, *free_in).await.is_err() {
                    self.pass(interval, request).await;
                }
            }
        }
    }

    async fn give_up(&self, request: Request) {
        self.stop_listening(request).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        self.base.extend(grant).await
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        let base = &self.base;
        let keys = [&*base.key, &self.channel];
        let arguments = [UNLOCKED, &base.lease_ms(), &grant.token];
        match &self.release {
            Release::Plain(script) => base.release(grant, script, &keys, &arguments).await,
            Release::Latched(script) => {
                base.release_latched(grant, script, &keys, &arguments).await
            }
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.base.is_held(grant).await
    }
}

params::params! {
    /// The parameters of `redisson`.
    pub struct Params {
        /// Whether the answer to a release is kept for when the release is sent again:
        /// Redisson since 3.24.1.
        #[serde(default)]
        pub latch: bool,
        /// How a waiter learns that the lock is free.
        #[serde(default)]
        pub wait: Wait,
        /// The sleep between two attempts with `wait = "spin"`, in milliseconds.
        #[serde(default = "params::default_resend_interval_ms")]
        pub spin_ms: u64,
    }
}

/// How a waiter learns that the lock is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// From the message that the release publishes: what Redisson does.
    #[default]
    Publish,
    /// From Redis's own notifications of what happens to the key, which are off unless
    /// the node is configured to send them; deletion and expiry count. What Redisson is
    /// said to do in places.
    Keyspace,
    /// It does not; it sleeps and tries again. "Attempts × sleep" is this together with
    /// `workload.give_up_ms`. The same is said of Redisson, whose setting of that name is
    /// for commands that were not answered.
    Spin,
}

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(Redisson::new(env, &nodes[0], self))
    }

    fn bound_ms(&self, _: &Topology) -> u64 {
        self.shared().bound_ms(match self.wait {
            Wait::Publish | Wait::Keyspace => SUBSCRIBE_LIMIT_MS,
            Wait::Spin => self.spin_ms,
        })
    }

    fn check(&self, topology: &Topology) -> Result<(), Impossible> {
        algorithm::one_node(ENTRY.name, topology)?;
        self.shared().check()?;
        require(
            self.spin_ms > 0,
            ["lock", "spin_ms"],
            "a waiter that sleeps for 0 ms never lets anything happen",
        )
    }
}

/// `redisson` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "redisson",
    summary: "one node, a hash that counts holds; pub/sub wakes waiters, a watchdog renews",
    source: "Redisson 3.23.5, RLock; latch since 3.24.1, on_error = \"retry\" since 3.43",
    parameters: params::parameters![
        (
            "latch",
            "false",
            "keep the answer to a release for when it is sent again",
        ),
        (
            "wait",
            "publish",
            "publish | keyspace | spin: how a waiter learns that the lock is free",
        ),
        ("spin_ms", "1500", "the sleep between attempts with wait = \"spin\""),
    ],
    forms: &[
        ("", "watchdog_ms = LEASE"),
        ("lease given", "lease_ms = LEASE"),
        (
            "newer release",
            "watchdog_ms = LEASE\non_error = \"retry\"\nlatch = true",
        ),
    ],
};
