//! `getset-as-listed`: the numbered steps of the blog text "redis实现分布式锁" (2018), read
//! literally.
//!
//! 1. A sends `SETNX lock <current time>`, receives 1, and has the lock.
//! 2. B sends the same and receives 0. It sends `GETSET lock <current time>` and treats the old
//!    value as the time of expiry; if that is less than the current time, the lock has expired
//!    and B has it.
//! 3. A client that is done deletes the lock.
//!
//! The value is the current time and not a later one, so a lock has expired as soon as the
//! clock has advanced by one unit. (The text's PHP has `time()`, whole seconds.)
//!
//! The paragraph above the list says "the time of expiry". That reading is available too: with
//! `ttl_ms`, the value is the current time plus the TTL. It still has no `GET` before its
//! `GETSET`, so every failed attempt postpones the expiry: a lock whose holder has crashed
//! never expires while any client keeps trying. `getset` is the corrected form.

use std::rc::Rc;

use locklab_values::units::ns_from_ms;
use serde::{Deserialize, Serialize};

use super::KEY;
use super::algorithm::{self, Algorithm, Bound, CatalogueEntry, Facts, InvalidParams, OVERWRITTEN};
use super::lock::{DynLock, Grant, Lock, LockError, Owner, Request};
use super::one_node::{OneNode, lost};
use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// `getset-as-listed` as one client uses it.
pub struct GetsetAsListed<E: Env> {
    env: E,
    node: OneNode<E>,
    params: Params,
}

impl<E: Env> GetsetAsListed<E> {
    /// A client of the lock on `node`.
    pub fn new(env: E, node: &Name, params: Params) -> Self {
        Self {
            node: OneNode::new(env.clone(), node, params.shared(), 0),
            env,
            params,
        }
    }

    /// The wall clock, in whole units.
    fn now(&self) -> u64 {
        self.env.now_ns(ClockKind::Wall) / ns_from_ms(self.params.unit_ms())
    }

    /// The time that an attempt at `now` writes.
    fn stamp(&self, now: u64) -> u64 {
        let ttl_ms = self.params.ttl_ms.unwrap_or(0);
        now + ttl_ms.div_ceil(self.params.unit_ms())
    }

    /// The grant of a holder: the listed steps give no deadline.
    fn granted(&self, owner: Owner, stamp: u64) -> Grant {
        let at_ns = ns_from_ms(stamp * self.params.unit_ms());
        let clock = ClockKind::Wall;
        Grant {
            owner,
            token: stamp.to_string(),
            deadline: self.params.ttl_ms.map(|_| Deadline { clock, at_ns }),
            fencing_token: None,
        }
    }

    /// Takes the lock in the node.
    async fn take(&self, request: Request) -> Result<Grant, LockError> {
        let stamp = self.stamp(self.now());
        if self.node.set_if_absent(&stamp.to_string()).await? {
            return Ok(self.granted(request.owner, stamp));
        }
        self.env.reach(Failpoint::Overwriting).await;
        let now = self.now();
        let stamp = self.stamp(now);
        let value = stamp.to_string();
        let command = [b"GETSET", KEY.as_bytes(), value.as_bytes()];
        let has_expired = match self.node.ask(&command, Reply::value).await? {
            // PHP's `false` is less than any time: the lock was deleted meanwhile.
            None => true,
            // PHP converts a value that is not a number to 0.
            Some(old) => old.parse().unwrap_or(0) < now,
        };
        match has_expired {
            true => Ok(self.granted(request.owner, stamp)),
            false => Err(LockError::taken("it has not expired")),
        }
    }
}

impl<E: Env> Lock for GetsetAsListed<E> {
    async fn connect(&self) {
        self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        self.node.counted(self.take(request).await?).await
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.node.pause(request).await;
    }

    /// The text has no extension; this one overwrites the time, if the key exists.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let stamp = self.stamp(self.now());
        let value = stamp.to_string();
        let command: [&[u8]; 4] = [b"SET", KEY.as_bytes(), value.as_bytes(), b"XX"];
        match self.node.ask(&command, Reply::set).await? {
            true => Ok(self.granted(grant.owner, stamp)),
            false => Err(lost()),
        }
    }

    async fn release(&self, _: &Grant) -> Result<u32, LockError> {
        self.node.delete().await
    }

    /// Whether the value is the one that this client wrote; every attempt overwrites it.
    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        self.node.holds(&grant.token).await
    }
}

params! {
    /// The parameters of `getset-as-listed`.
    pub struct Params: one_node {
        /// Added to the current time in the value, in milliseconds; absent: nothing, as listed.
        ttl_ms: Option<u64> = (None => "none"),
            "added to the current time in the value; the list adds nothing";
        /// The unit of the times.
        unit: Unit = (Unit::Seconds => "seconds"), "seconds | milliseconds: of the times";
    }
}

impl Params {
    fn unit_ms(&self) -> u64 {
        match self.unit {
            Unit::Seconds => 1000,
            Unit::Milliseconds => 1,
        }
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: self.ttl_ms,
            tells_deadline: self.ttl_ms.is_some(),
            listens: false,
            held: Err(OVERWRITTEN),
            keeps: &[],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(GetsetAsListed::new(env, &nodes[0], self.clone()))
    }

    /// Assumes that no client postponed the expiry. A time in whole units may be past up to two
    /// units later.
    fn bound(&self, _: &Topology) -> Bound {
        let lease_ms = self.ttl_ms.unwrap_or(0) + 2 * self.unit_ms();
        // SETNX, GET, GETSET.
        self.shared().bound(Some(lease_ms), 3, 0)
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.shared().check(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms.unwrap_or(1))
    }
}

/// The unit of the times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// As in PHP's `time()`.
    #[default]
    Seconds,
    /// As in most other languages.
    Milliseconds,
}

/// `getset-as-listed` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "getset-as-listed",
    summary: "one node, SETNX with the current time as value; a client that fails sends GETSET at once",
    source: "blog text \"redis实现分布式锁\" (2018), its numbered steps",
    parameters: Params::PARAMETERS,
    forms: &[("", ""), ("with expiry", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[],
};
