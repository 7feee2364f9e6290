//! The interface that the author of a lock implements.
//!
//! A lock knows how to make one attempt, how to wait for the next, and how to keep and
//! release a grant. [`Locker`](super::Locker) builds the user's interface on that:
//! `acquire`, `try_acquire`, and a guard.

use std::future::{Future, ready};
use std::pin::Pin;

use locklab_values::units::ns_from_ms;
use thiserror::Error;

use locklab_env::redis;
use locklab_env::{Duration, Env};
use locklab_history::Deadline;

/// A lock as one process uses it: connections and parameters. It stores grants only if the
/// algorithm itself keeps state on the client's side.
pub trait Lock {
    /// Opens the connections that the lock will need, so that the first attempt does
    /// not pay for them. An unreachable node is not an error yet.
    fn connect(&self) -> impl Future<Output = ()>;

    /// Makes one attempt to take the lock.
    ///
    /// # Errors
    /// [`LockError::NotAcquired`] if another client holds the lock; [`LockError::Node`] or
    /// [`LockError::Unknown`] if a node failed or did not answer.
    fn attempt(&self, request: Request) -> impl Future<Output = Result<Grant, LockError>>;

    /// Waits, after an attempt that ended with `failed`, until the next attempt is worthwhile;
    /// no longer than `request.wait`.
    fn wait(&self, request: Request, failed: &LockError) -> impl Future<Output = ()>;

    /// Cleans up after a wait that the caller has given up.
    fn give_up(&self, _request: Request) -> impl Future<Output = ()> {
        ready(())
    }

    /// Gives a grant a new full lease, if the holder still has the lock.
    ///
    /// # Errors
    /// [`LockError::Lost`] if it does not; [`LockError::Unsupported`], by default, if the lock has
    /// no such operation. A run that requests an unsupported operation is inconclusive.
    fn extend(&self, _grant: &Grant) -> impl Future<Output = Result<Grant, LockError>> {
        ready(Err(LockError::Unsupported("extend")))
    }

    /// Releases a grant; returns how many keys that deleted, summed over the nodes. The number
    /// is 0 while a hold remains of a lock that its owner took more than once.
    ///
    /// # Errors
    /// [`LockError::Lost`] if the grant no longer held the lock, as far as the algorithm
    /// checks.
    fn release(&self, grant: &Grant) -> impl Future<Output = Result<u32, LockError>>;

    /// Asks the nodes whether the grant still holds the lock.
    ///
    /// # Errors
    /// If too few of them answer; [`LockError::Unsupported`] as with [`Lock::extend`].
    fn is_held(&self, _grant: &Grant) -> impl Future<Output = Result<bool, LockError>> {
        ready(Err(LockError::Unsupported("is_held")))
    }
}

/// One request for a lock: its owner, its mode, and how long to keep trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The owner of the lock.
    pub owner: Owner,
    /// How much longer the caller will wait; `None`: without limit.
    pub wait: Option<Duration>,
    /// Exclusive or shared. Most locks know one mode only and ignore this.
    pub mode: Mode,
}

impl Request {
    /// This duration, capped at the remaining wait.
    pub fn within(&self, time: Duration) -> Duration {
        self.wait.map_or(time, |left| time.min(left))
    }

    /// Sleeps for this duration, capped at the remaining wait.
    pub async fn pass(&self, env: &impl Env, time: Duration) {
        env.sleep(self.within(time)).await;
    }
}

/// Whether several owners may hold a lock at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// By one owner only.
    #[default]
    Exclusive,
    /// By all owners that asked for this mode: readers.
    Shared,
}

/// The owner of a grant within a process. Tasks are not threads, so a task names its owner
/// explicitly; this is what Redisson calls a thread id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub u32);

impl Owner {
    /// The owner in a process that has only one.
    pub const ONLY: Owner = Owner(1);
}

/// The right to act that a successful attempt gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The owner within the process.
    pub owner: Owner,
    /// The value by which the nodes identify this grant.
    pub token: String,
    /// When the holder must stop, on its own clock; `None` where the algorithm gives no
    /// deadline.
    pub deadline: Option<Deadline>,
    /// A number that increases from grant to grant, for the resource to compare.
    pub fencing_token: Option<u64>,
}

/// The outcome of an operation that did not succeed.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another client holds the lock, or too few nodes granted it.
    #[error("not acquired: {why}")]
    NotAcquired {
        /// The reason.
        why: String,
        /// When the lock becomes free without a release, as far as the algorithm knows.
        free_in: Option<Duration>,
    },
    /// The grant no longer holds the lock, or not on enough nodes in time.
    #[error("lost: {0}")]
    Lost(String),
    /// The lock has no such operation.
    #[error("this lock does not support {0}")]
    Unsupported(&'static str),
    /// No reply came: the command may have been executed, or may still be.
    #[error(transparent)]
    Unknown(redis::Error),
    /// A node refused, or could not be reached: the command was not executed.
    #[error(transparent)]
    Node(redis::Error),
}

impl LockError {
    /// Another client holds the lock, for an unknown time.
    pub fn taken(why: impl Into<String>) -> Self {
        LockError::NotAcquired {
            why: why.into(),
            free_in: None,
        }
    }
}

impl From<redis::Error> for LockError {
    fn from(error: redis::Error) -> Self {
        match error.may_have_happened() {
            true => LockError::Unknown(error),
            false => LockError::Node(error),
        }
    }
}

/// A wait of random length between two attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The minimum, in milliseconds.
    pub delay_ms: u64,
    /// The maximum random addition, drawn for each wait, in milliseconds.
    pub jitter_ms: u64,
}

impl Retry {
    /// The longest possible wait, in milliseconds.
    pub fn longest_ms(&self) -> u64 {
        self.delay_ms + self.jitter_ms
    }

    /// Draws a wait and sleeps, but no longer than the remaining wait of the request.
    pub async fn wait(&self, env: &impl Env, request: Request) {
        let jitter_ns = ns_from_ms(self.jitter_ms);
        let drawn_ns = ((u128::from(env.random()) * u128::from(jitter_ns)) >> 64) as u64;
        let wait = Duration::from_millis(self.delay_ms) + Duration::from_nanos(drawn_ns);
        request.pass(env, wait).await;
    }
}

/// A [`Lock`] behind a pointer.
pub trait DynLock {
    /// See [`Lock::connect`].
    fn connect(&self) -> Boxed<'_, ()>;
    /// See [`Lock::attempt`].
    fn attempt(&self, request: Request) -> Boxed<'_, Result<Grant, LockError>>;
    /// See [`Lock::wait`].
    fn wait<'a>(&'a self, request: Request, failed: &'a LockError) -> Boxed<'a, ()>;
    /// See [`Lock::give_up`].
    fn give_up(&self, request: Request) -> Boxed<'_, ()>;
    /// See [`Lock::extend`].
    fn extend<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<Grant, LockError>>;
    /// See [`Lock::release`].
    fn release<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<u32, LockError>>;
    /// See [`Lock::is_held`].
    fn is_held<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<bool, LockError>>;
}

/// A future on the heap; it stays on its thread.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

impl<L: Lock> DynLock for L {
    fn connect(&self) -> Boxed<'_, ()> {
        Box::pin(Lock::connect(self))
    }

    fn attempt(&self, request: Request) -> Boxed<'_, Result<Grant, LockError>> {
        Box::pin(Lock::attempt(self, request))
    }

    fn wait<'a>(&'a self, request: Request, failed: &'a LockError) -> Boxed<'a, ()> {
        Box::pin(Lock::wait(self, request, failed))
    }

    fn give_up(&self, request: Request) -> Boxed<'_, ()> {
        Box::pin(Lock::give_up(self, request))
    }

    fn extend<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<Grant, LockError>> {
        Box::pin(Lock::extend(self, grant))
    }

    fn release<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<u32, LockError>> {
        Box::pin(Lock::release(self, grant))
    }

    fn is_held<'a>(&'a self, grant: &'a Grant) -> Boxed<'a, Result<bool, LockError>> {
        Box::pin(Lock::is_held(self, grant))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use locklab_env::noop::NoopEnv;

    /// How many microseconds a waiter sleeps with this random draw and this remaining wait in
    /// milliseconds: 200 ms and up to 50 ms more.
    #[track_caller]
    fn check(drawn: u64, patience_ms: Option<u64>, expected_us: u128) {
        let env = NoopEnv {
            drawn,
            ..NoopEnv::default()
        };
        let retry = Retry {
            delay_ms: 200,
            jitter_ms: 50,
        };
        let request = Request {
            owner: Owner::ONLY,
            wait: patience_ms.map(Duration::from_millis),
            mode: Mode::Exclusive,
        };
        let waiting = retry.wait(&env, request).now_or_never();
        waiting.expect("sleep takes no time here");
        assert_eq!(env.slept.get().as_micros(), expected_us);
    }

    #[test]
    fn retry_waits_for_the_delay_plus_random_jitter() {
        check(0, None, 200_000);
        check(1 << 63, None, 225_000);
        check(u64::MAX, None, 249_999);
    }

    #[test]
    fn retry_wait_is_capped_at_the_remaining_wait() {
        check(1 << 63, Some(300), 225_000);
        check(1 << 63, Some(210), 210_000);
        check(0, Some(0), 0);
    }
}
