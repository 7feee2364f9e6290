//! One of the locks that a `RedissonMultiLock` consists of: an `RLock` on a node of its own,
//! like `redisson`, but with a lease that differs from call to call.

use super::base::{Base, Renewal, freed, left, not_the_owner};
use super::listening::{Listening, UNLOCKED};
use super::names;
use super::params::{Lease, Shared, now_ns};
use crate::{Grant, LockError, Mode, Owner, Request, scripts};
use locklab_env::{Duration, Env};
use locklab_history::{ClockKind, Name};

/// One lock of several, as used by one process.
pub(crate) struct Member<E: Env> {
    base: Base<E>,
    listening: Listening<E>,
}

impl<E: Env> Member<E> {
    /// The lock at `key` of `node`; each node has a client of its own, with an identity of its
    /// own.
    pub(crate) fn new(env: E, node: &Name, key: &str, shared: Shared) -> Self {
        let channel = names::channel(key);
        Self {
            listening: Listening::new(env.clone(), node.clone(), channel, &[UNLOCKED]),
            base: Base::new(env, node, key, shared, Renewal::OF_THE_KEY),
        }
    }

    /// Opens the connections that will be needed.
    pub(crate) async fn connect(&self) {
        self.base.connect().await;
    }

    /// `RLock.tryLock(wait, lease)`: tries until the lock is taken or `wait` is over by the
    /// wall clock; makes at least one attempt, however long that takes. Returns whether the
    /// lock was taken.
    ///
    /// # Errors
    /// If the node fails or does not answer.
    pub(crate) async fn try_lock(
        &self,
        owner: Owner,
        wait: Duration,
        lease_ms: u64,
    ) -> Result<bool, LockError> {
        let started_ns = wall_ns(&self.base.env);
        let left = || wait.saturating_sub(since(&self.base.env, started_ns));
        let taken = loop {
            let free_in = match self.attempt(owner, lease_ms).await {
                Ok(None) => break Ok(true),
                Ok(Some(pttl_ms)) => u64::try_from(pttl_ms).ok().map(Duration::from_millis),
                Err(error) => break Err(error),
            };
            let request = Request {
                owner,
                wait: Some(left()),
                mode: Mode::Exclusive,
            };
            if left().is_zero()
                || self.listening.wait(request, free_in).await.is_err()
                || left().is_zero()
            {
                break Ok(false);
            }
        };
        self.listening.leave(owner).await;
        taken
    }

    /// Runs the script once; returns the holder's remaining lease, if the lock was not taken.
    async fn attempt(&self, owner: Owner, lease_ms: u64) -> Result<Option<i64>, LockError> {
        let base = &self.base;
        let arguments = [&*lease_ms.to_string(), &base.holder(owner)];
        let keys = [&*base.key];
        let script = &scripts::REDISSON_ACQUIRE;
        let left = base.node.run(script, &keys, &arguments, left).await?;
        if let (None, Lease::Renewed { .. }) = (left, base.shared.lease) {
            base.granted(owner, now_ns(&base.env), None);
        }
        Ok(left)
    }

    /// `RLock.expire(lease)`, a plain `PEXPIRE`: it sets the lease of whichever client has the
    /// lock.
    pub(crate) async fn expire(&self, lease_ms: u64) {
        let (node, lease_ms) = (&self.base.node, lease_ms.to_string());
        let command = [b"PEXPIRE", self.base.key.as_bytes(), lease_ms.as_bytes()];
        // Redisson ignores the result.
        let _ = node.again(async || node.once().call(&command).await).await;
    }

    /// `RLock.unlock()`; returns how many keys were deleted.
    ///
    /// # Errors
    /// [`LockError::Lost`] if the owner does not have the lock.
    pub(crate) async fn unlock(&self, owner: Owner) -> Result<u32, LockError> {
        let base = &self.base;
        let keys = [&*base.key, &names::channel(&base.key)];
        let arguments = [UNLOCKED, &*base.lease_ms(), &base.holder(owner)];
        let script = &scripts::REDISSON_RELEASE;
        let reply = base.node.run(script, &keys, &arguments, freed).await;
        base.end_renewal(owner);
        reply?.ok_or_else(not_the_owner)
    }

    /// See [`Base::extend`].
    pub(crate) async fn extend(&self, owner: Owner) -> Result<Grant, LockError> {
        self.base.extend(&self.grant(owner)).await
    }

    /// See [`Base::is_held`].
    pub(crate) async fn is_held(&self, owner: Owner) -> Result<bool, LockError> {
        self.base.is_held(&self.grant(owner)).await
    }

    /// The grant of an owner.
    pub(crate) fn grant(&self, owner: Owner) -> Grant {
        Grant {
            owner,
            token: self.base.holder(owner),
            deadline: None,
            fencing_token: None,
        }
    }
}

/// The clock by which Redisson measures the wait time.
pub(crate) fn wall_ns(env: &impl Env) -> u64 {
    env.now_ns(ClockKind::Wall)
}

/// The time elapsed on that clock; zero, if the clock was set back.
pub(crate) fn since(env: &impl Env, started_ns: u64) -> Duration {
    Duration::from_nanos(wall_ns(env).saturating_sub(started_ns))
}
