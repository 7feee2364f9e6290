//! What a lock is, for whoever writes one.
//!
//! A lock knows how to make one attempt, how to wait for the next, and how to keep and
//! give back what it got. [`Locker`](super::Locker) makes of that what a user wants:
//! `acquire`, `try_acquire`, and a guard.

use std::future::Future;
use std::pin::Pin;

use thiserror::Error;

use locklab_env::redis;
use locklab_env::{Duration, Env};
use locklab_history::Deadline;
use locklab_plant::plant;

/// A lock as one process uses it: connections, parameters, and nothing about grants
/// but what the algorithm itself keeps on the client's side.
pub trait Lock {
    /// Opens the connections that the lock will need, so that the first attempt does
    /// not pay for them. A node that cannot be reached is no error yet.
    fn connect(&self) -> impl Future<Output = ()>;

    /// Makes one attempt to take the lock.
    ///
    /// # Errors
    /// [`LockError::NotAcquired`] if somebody else has it; [`LockError::Node`] or
    /// [`LockError::Unknown`] if a node did not do its part.
    fn attempt(&self, request: Request) -> impl Future<Output = Result<Grant, LockError>>;

    /// Waits, after an attempt that ended with `failed`, until the next is worth making;
    /// no longer than `request.wait`.
    fn wait(&self, request: Request, failed: &LockError) -> impl Future<Output = ()>;

    /// Takes back whatever waiting has left behind: its caller has given up.
    fn give_up(&self, _request: Request) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Gives a grant a new full lease, if it is still the holder's.
    ///
    /// # Errors
    /// [`LockError::Lost`] if it is not.
    fn extend(&self, grant: &Grant) -> impl Future<Output = Result<Grant, LockError>>;

    /// Gives a grant back; says how many keys that deleted, summed over the nodes. It is
    /// 0 where a hold remains, of a lock that its owner took more than once.
    ///
    /// # Errors
    /// [`LockError::Lost`] if the lock was not the grant's any more, as far as the
    /// algorithm looks.
    fn release(&self, grant: &Grant) -> impl Future<Output = Result<u32, LockError>>;

    /// Asks the nodes whether the lock is still the grant's.
    ///
    /// # Errors
    /// If too few of them answer.
    fn is_held(&self, grant: &Grant) -> impl Future<Output = Result<bool, LockError>>;
}

/// Who asks for a lock, and for how long it will go on asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Who.
    pub owner: Owner,
    /// How much patience is left; `None`: without end.
    pub wait: Option<Duration>,
    /// Beside whom. Most locks know one mode only and pass over this.
    pub mode: Mode,
}

impl Request {
    /// So much time, but not more than the patience that is left.
    pub fn within(&self, time: Duration) -> Duration {
        self.wait.map_or(time, |left| time.min(left))
    }

    /// Lets so much time pass, but not more than the patience that is left.
    pub async fn pass(&self, env: &impl Env, time: Duration) {
        let time = match plant("request-without-patience") {
            false => self.within(time),
            true => time,
        };
        env.sleep(time).await;
    }
}

/// Whether a lock may be held by several at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// By nobody else.
    #[default]
    Exclusive,
    /// By others too that asked for it in this mode: readers.
    Shared,
}

/// Who, within a process, a grant belongs to. Tasks are not threads, so a task says who
/// it is; where Redisson speaks of a thread id, this is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub u32);

impl Owner {
    /// The owner in a process that has only one.
    pub const ONLY: Owner = Owner(1);
}

/// The right to act that an attempt gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who within the process has it.
    pub owner: Owner,
    /// What the nodes know this grant by.
    pub token: String,
    /// When the holder must stop, on its own clock; `None` where the algorithm gives
    /// no deadline.
    pub deadline: Option<Deadline>,
    /// A number that grows from grant to grant, for the resource to compare.
    pub fencing_token: Option<u64>,
}

/// What is known of an operation that did not succeed.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else holds the lock, or too few nodes granted it.
    #[error("not acquired: {why}")]
    NotAcquired {
        /// What stood in the way.
        why: String,
        /// When the lock comes free of itself, as far as the algorithm was told.
        free_in: Option<Duration>,
    },
    /// The lock is no longer this grant's, or not on enough nodes in time.
    #[error("lost: {0}")]
    Lost(String),
    /// No reply came: it may have been done, or may still be.
    #[error(transparent)]
    Unknown(redis::Error),
    /// A node refused, or could not be reached: it was not done.
    #[error(transparent)]
    Node(redis::Error),
}

impl LockError {
    /// Somebody else has it, until nobody knows when.
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
    /// At least this, in milliseconds.
    pub delay_ms: u64,
    /// Up to this much more, drawn anew each time, in milliseconds.
    pub jitter_ms: u64,
}

impl Retry {
    /// The longest wait that is drawn, in milliseconds.
    pub fn longest_ms(&self) -> u64 {
        self.delay_ms + self.jitter_ms
    }

    /// Draws a wait and sleeps, but not beyond the caller's patience.
    pub async fn wait(&self, env: &impl Env, request: Request) {
        let jitter_ns = self.jitter_ms * 1_000_000;
        let jitter_ns = match plant("retry-no-jitter") {
            false => jitter_ns,
            true => 0,
        };
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
    use locklab_env::still::Still;

    /// For how many microseconds one waits who has drawn this, and has so much patience in
    /// milliseconds: 200 ms and up to 50 ms more.
    #[track_caller]
    fn check(drawn: u64, patience_ms: Option<u64>, expected_us: u128) {
        let env = Still {
            drawn,
            ..Still::default()
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
    fn a_retry_waits_for_the_delay_and_a_drawn_part_of_the_jitter() {
        check(0, None, 200_000);
        check(1 << 63, None, 225_000);
        check(u64::MAX, None, 249_999);
    }

    #[test]
    fn nobody_waits_beyond_its_patience() {
        check(1 << 63, Some(300), 225_000);
        check(1 << 63, Some(210), 210_000);
        check(0, Some(0), 0);
    }
}
