//! What a lock is, for whoever uses one.

use std::future::Future;
use std::pin::Pin;

use thiserror::Error;

use crate::env::{Duration, Env};
use crate::history::Deadline;
use crate::redis;

/// A lock as one client holds it: connections, parameters, and nothing about grants.
pub trait Lock {
    /// Opens the connections that the lock will need, so that the first attempt does
    /// not pay for them. A node that cannot be reached is no error yet.
    fn connect(&mut self) -> impl Future<Output = ()>;

    /// Makes one attempt to take the lock.
    fn try_acquire(&mut self) -> impl Future<Output = Result<Grant, AcquireError>>;

    /// Gives a grant a new full lease, if it is still the holder's.
    fn extend(&mut self, grant: &Grant) -> impl Future<Output = Result<Grant, ExtendError>>;

    /// Gives a grant back; says how many keys that deleted, summed over the nodes. 0
    /// means that nothing was left to release.
    fn release(&mut self, grant: &Grant) -> impl Future<Output = Result<u32, redis::Error>>;

    /// How long to wait after a failed attempt.
    fn retry(&self) -> Retry;
}

/// The right to act that an `acquire` gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The random value under which the nodes know this grant.
    pub owner: String,
    /// When the holder must stop, on its own clock; `None` where the algorithm gives
    /// no deadline.
    pub deadline: Option<Deadline>,
    /// A number that grows from grant to grant, for the resource to compare.
    pub fencing_token: Option<u64>,
}

/// The wait between two attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// At least this, in milliseconds.
    pub delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    pub jitter_ms: u64,
}

impl Retry {
    /// Draws one wait.
    pub fn draw(&self, env: &impl Env) -> Duration {
        let jitter_ns = self.jitter_ms * 1_000_000;
        let drawn_ns = ((u128::from(env.random()) * u128::from(jitter_ns)) >> 64) as u64;
        Duration::from_millis(self.delay_ms) + Duration::from_nanos(drawn_ns)
    }
}

/// Why an attempt gave no grant.
#[derive(Debug, Error)]
pub enum AcquireError {
    /// Somebody else holds the lock, or too few nodes granted it.
    #[error("not acquired: {0}")]
    NotAcquired(String),
    /// A node refused, or could not be reached.
    #[error(transparent)]
    Node(#[from] redis::Error),
}

/// Why a lease was not prolonged.
#[derive(Debug, Error)]
pub enum ExtendError {
    /// The lock is no longer this grant's, or not on enough nodes in time.
    #[error("lost: {0}")]
    Lost(String),
    /// A node refused, or could not be reached.
    #[error(transparent)]
    Node(#[from] redis::Error),
}

/// A [`Lock`] behind a pointer.
pub trait DynLock {
    /// See [`Lock::connect`].
    fn connect(&mut self) -> Boxed<'_, ()>;
    /// See [`Lock::try_acquire`].
    fn try_acquire(&mut self) -> Boxed<'_, Result<Grant, AcquireError>>;
    /// See [`Lock::extend`].
    fn extend<'a>(&'a mut self, grant: &'a Grant) -> Boxed<'a, Result<Grant, ExtendError>>;
    /// See [`Lock::release`].
    fn release<'a>(&'a mut self, grant: &'a Grant) -> Boxed<'a, Result<u32, redis::Error>>;
    /// See [`Lock::retry`].
    fn retry(&self) -> Retry;
}

/// A future on the heap; it stays on its thread.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

impl<L: Lock> DynLock for L {
    fn connect(&mut self) -> Boxed<'_, ()> {
        Box::pin(Lock::connect(self))
    }

    fn try_acquire(&mut self) -> Boxed<'_, Result<Grant, AcquireError>> {
        Box::pin(Lock::try_acquire(self))
    }

    fn extend<'a>(&'a mut self, grant: &'a Grant) -> Boxed<'a, Result<Grant, ExtendError>> {
        Box::pin(Lock::extend(self, grant))
    }

    fn release<'a>(&'a mut self, grant: &'a Grant) -> Boxed<'a, Result<u32, redis::Error>> {
        Box::pin(Lock::release(self, grant))
    }

    fn retry(&self) -> Retry {
        Lock::retry(self)
    }
}
