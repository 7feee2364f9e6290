//! The shared parts of all locks of the family, after `RedissonBaseLock`: their identity on the
//! node, how they send commands, and how a grant is kept alive and released.

use std::rc::Rc;

use super::names::{Identity, latch, uuid};
use super::params::{Lease, Shared, now_ns};
use super::resend::Resending;
use super::watchdog::{Renew, Watchdog};
use crate::{Grant, LockError, Owner, scripts};
use locklab_env::redis::{Error, Reply, Script};
use locklab_env::{Duration, Env};
use locklab_history::{Failpoint, Name};

/// One lock of the family, as one process uses it.
pub(crate) struct Base<E: Env> {
    /// The environment of the process.
    pub(crate) env: E,
    /// The key of the lock.
    pub(crate) key: String,
    /// The client of the node, for everything except renewals.
    pub(crate) node: Rc<Resending<E>>,
    /// The family's parameters.
    pub(crate) shared: Shared,
    identity: Identity,
    renewals: Rc<Resending<E>>,
    renewal: Renewal,
    watchdog: Watchdog<E>,
}

impl<E: Env> Base<E> {
    /// The lock at `key` of `node`, for a client with a new random identity; its watchdog
    /// renews as `renewal` says.
    pub(crate) fn new(env: E, node: &Name, key: &str, shared: Shared, renewal: Renewal) -> Self {
        let client = || Rc::new(Resending::new(env.clone(), node.clone(), shared.resend));
        let (identity, clients) = (Identity::draw(&env), [client(), client()]);
        Self::over(env, identity, clients, key, shared, renewal)
    }

    /// The same lock for the same client over the same connections, but with a suffix for each
    /// of its owners, and with a watchdog of its own.
    pub(crate) fn with_suffix(&self, mark: &'static str, renewal: Renewal) -> Self {
        let identity = self.identity.with_suffix(mark);
        let clients = [self.node.clone(), self.renewals.clone()];
        Self::over(
            self.env.clone(),
            identity,
            clients,
            &self.key,
            self.shared,
            renewal,
        )
    }

    fn over(
        env: E,
        identity: Identity,
        [node, renewals]: [Rc<Resending<E>>; 2],
        key: &str,
        shared: Shared,
        renewal: Renewal,
    ) -> Self {
        let renewing: Renew = {
            let (renewals, renewal) = (renewals.clone(), renewal.clone());
            let (key, identity) = (key.to_owned(), identity.clone());
            Rc::new(move |owner| {
                let (renewals, renewal) = (renewals.clone(), renewal.clone());
                let (key, holder) = (key.clone(), identity.holder(owner));
                Box::pin(async move { renewal.run(&renewals, &key, &shared, &holder).await })
            })
        };
        Self {
            watchdog: Watchdog::new(env.clone(), shared.lease.ms(), shared.on_error, renewing),
            key: key.to_owned(),
            node,
            identity,
            renewals,
            renewal,
            shared,
            env,
        }
    }

    /// Opens the connections that will be needed.
    pub(crate) async fn connect(&self) {
        // If this fails, so does the first command, which reports the reason.
        let _ = self.node.once().connect().await;
        if let Lease::Renewed { .. } = self.shared.lease {
            let _ = self.renewals.once().connect().await;
        }
    }

    /// The name of an owner on the nodes: the field of the lock's hash.
    pub(crate) fn holder(&self, owner: Owner) -> String {
        self.identity.holder(owner)
    }

    /// The lease as a script's argument.
    pub(crate) fn lease_ms(&self) -> String {
        self.shared.lease.ms().to_string()
    }

    /// The grant of an owner whose request began when its clock showed `started_ns`. From now
    /// on the watchdog renews it, unless the user gave a lease.
    pub(crate) fn granted(
        &self,
        owner: Owner,
        started_ns: u64,
        fencing_token: Option<u64>,
    ) -> Grant {
        if let Lease::Renewed { .. } = self.shared.lease {
            self.watchdog.watch(owner);
        }
        Grant {
            owner,
            token: self.holder(owner),
            deadline: self.shared.lease.deadline(started_ns),
            fencing_token,
        }
    }

    /// Runs the watchdog's script once.
    ///
    /// # Errors
    /// [`LockError::Lost`] if the holder no longer has the lock.
    pub(crate) async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let started_ns = now_ns(&self.env);
        let renewing = self
            .renewal
            .run(&self.node, &self.key, &self.shared, &grant.token);
        match renewing.await? {
            true => Ok(Grant {
                deadline: self.shared.lease.deadline(started_ns),
                ..grant.clone()
            }),
            false => Err(not_the_owner()),
        }
    }

    /// Runs a releasing script and ends the renewals, even if the script fails; returns how many
    /// keys were deleted.
    ///
    /// # Errors
    /// [`LockError::Lost`] if the script says that the holder does not have the lock.
    pub(crate) async fn release(
        &self,
        grant: &Grant,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        let reply = self.node.run(script, keys, arguments, freed).await;
        self.end_renewal(grant.owner);
        reply?.ok_or_else(not_the_owner)
    }

    /// Runs a script that keeps its answer in a key, which is deleted when the answer has
    /// arrived. The script's keys are `keys` and that one; its arguments are `arguments`, and
    /// how long to keep the answer.
    ///
    /// # Errors
    /// As [`Base::release`].
    pub(crate) async fn release_latched(
        &self,
        grant: &Grant,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<u32, LockError> {
        let resend = self.shared.resend;
        let latch = latch(&self.key, &uuid(&self.env));
        // For as long as the request may be retransmitted.
        let kept_ms = (resend.round_ms() * u64::from(resend.times.max(1))).to_string();
        let keys = [keys, &[&latch]].concat();
        let arguments = [arguments, &[&kept_ms]].concat();
        let released = self.release(grant, script, &keys, &arguments).await;
        let node = self.node.clone();
        self.env.spawn(async move {
            // If this fails, the key expires.
            let _ = node.once().call(&[b"DEL", latch.as_bytes()]).await;
        });
        released
    }

    /// Ends the renewal for one hold, which the owner has released.
    pub(crate) fn end_renewal(&self, owner: Owner) {
        self.watchdog.unwatch(owner);
    }

    /// Whether the holder has the lock on the node.
    ///
    /// # Errors
    /// If the node does not answer.
    pub(crate) async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let command = [b"HEXISTS", self.key.as_bytes(), grant.token.as_bytes()];
        let ask = || self.node.once().ask(&command, Reply::flag);
        Ok(self.node.again(ask).await?)
    }
}

/// How to give a holder a full lease.
#[derive(Clone)]
pub(crate) struct Renewal {
    /// A script that checks for the holder's field. Its arguments are the lease and the holder;
    /// it answers whether it found the field.
    pub(crate) script: &'static Script,
    /// A further argument of the script.
    pub(crate) more: Option<String>,
}

impl Renewal {
    /// By the script that sets the lease of the lock's key only.
    pub(crate) const OF_THE_KEY: Renewal = Renewal {
        script: &scripts::REDISSON_RENEW,
        more: None,
    };

    /// Whether the holder still had the lock.
    async fn run<E: Env>(
        &self,
        node: &Resending<E>,
        key: &str,
        shared: &Shared,
        holder: &str,
    ) -> Result<bool, Error> {
        let lease_ms = shared.lease.ms().to_string();
        let arguments = [Some(&*lease_ms), Some(holder), self.more.as_deref()];
        let arguments: Vec<&str> = arguments.into_iter().flatten().collect();
        node.run(self.script, &[key], &arguments, Reply::flag).await
    }
}

/// The answer of a releasing script: how many keys it deleted; -1, if the key was already gone;
/// or nil, `None` here: the holder does not have the lock.
pub(crate) fn freed(reply: &Reply) -> Option<Option<u32>> {
    match reply {
        Reply::Nil => Some(None),
        Reply::Integer(-1) => Some(Some(0)),
        reply => reply.count().map(Some),
    }
}

/// The answer of an acquiring script: the remaining lease of the current holder, in the form of
/// PTTL; or nil, `None` here: the lock was taken.
pub(crate) fn left(reply: &Reply) -> Option<Option<i64>> {
    match reply {
        Reply::Nil => Some(None),
        reply => reply.integer().map(Some),
    }
}

/// Redisson's `IllegalMonitorStateException`.
pub(crate) fn not_the_owner() -> LockError {
    LockError::Lost("attempt to unlock a lock that is not locked by this owner".into())
}

/// The error for a lock held by another client, with the remaining lease in the form of PTTL.
pub(crate) fn taken(pttl_ms: i64) -> LockError {
    LockError::NotAcquired {
        why: "somebody holds it".into(),
        free_in: u64::try_from(pttl_ms).ok().map(Duration::from_millis),
    }
}
