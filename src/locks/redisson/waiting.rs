//! How a lock of the family waits between two attempts.

use std::cell::RefCell;

use super::listening::{Listening, UNLOCKED};
use super::names;
use crate::{LockError, Owner, Request};
use locklab_env::{Duration, Env};
use locklab_history::Name;
use locklab_vecmap::VecMap;

/// A way to wait.
pub(crate) enum Waiting<E: Env> {
    /// For a message, or until the current holder's lease is over.
    Listening(Listening<E>),
    /// Until the current holder's lease is over.
    Lease,
    /// For a constant time.
    Sleep(Duration),
    /// For a time that grows with each attempt.
    BackOff(BackOff),
}

impl<E: Env> Waiting<E> {
    /// Waits for the message that the release of the lock at `key` publishes.
    pub(crate) fn publish(env: &E, node: &Name, key: &str) -> Self {
        let channel = names::channel(key);
        let listening = Listening::new(env.clone(), node.clone(), channel, &[UNLOCKED]);
        Waiting::Listening(listening)
    }

    /// For the node's keyspace notification about the key, if the node is configured to send
    /// it.
    pub(crate) fn keyspace(env: &E, node: &Name, key: &str) -> Self {
        let (channel, wakers) = (names::keyspace_channel(key), &["del", "expired"]);
        Waiting::Listening(Listening::new(env.clone(), node.clone(), channel, wakers))
    }

    /// Waits, after an attempt that ended with `failed`. A failed node is an exception for a
    /// user of Redisson; a user who retries all the same does so after `interval`.
    pub(crate) async fn wait(
        &self,
        env: &E,
        request: Request,
        failed: &LockError,
        interval: Duration,
    ) {
        let LockError::NotAcquired { free_in, .. } = failed else {
            return request.pass(env, interval).await;
        };
        match self {
            Waiting::Listening(listening) => {
                if listening.wait(request, *free_in).await.is_err() {
                    request.pass(env, interval).await;
                }
            }
            Waiting::Lease => request.pass(env, free_in.unwrap_or(interval)).await,
            Waiting::Sleep(time) => request.pass(env, *time).await,
            Waiting::BackOff(back_off) => {
                let time = back_off.next(request.owner, env.random());
                request.pass(env, time).await;
            }
        }
    }

    /// Ends the wait of an owner that has the lock, or has given up.
    pub(crate) async fn end(&self, owner: Owner) {
        match self {
            Waiting::Listening(listening) => listening.leave(owner).await,
            Waiting::BackOff(back_off) => back_off.reset(owner),
            Waiting::Lease | Waiting::Sleep(_) => {}
        }
    }
}

/// The back-off of `RSpinLock`, in its exponential form with default values: the first wait is
/// 1 ms; each wait is twice the previous one, plus a random number of milliseconds up to the
/// number of attempts.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    /// The number of each owner's consecutive failures.
    failures: RefCell<VecMap<Owner, u32>>,
}

impl BackOff {
    /// The longest wait, in milliseconds.
    pub(crate) const MAX_MS: u64 = 128;

    /// The owner's next wait; `random` are 64 random bits.
    fn next(&self, owner: Owner, random: u64) -> Duration {
        let mut failures = self.failures.borrow_mut();
        let failures = failures.entry(owner).or_default();
        let jitter_ms = (u128::from(random) * u128::from(failures.saturating_add(1))) >> 64;
        // 2^7 ms is the longest.
        let wait_ms = (1 << (*failures).min(7)) + jitter_ms as u64;
        *failures = failures.saturating_add(1);
        Duration::from_millis(wait_ms.min(Self::MAX_MS))
    }

    fn reset(&self, owner: Owner) {
        self.failures.borrow_mut().remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits_ms(back_off: &BackOff, owner: Owner, random: u64) -> Vec<u128> {
        let next = |_| back_off.next(owner, random).as_millis();
        (0..10).map(next).collect()
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_resets() {
        let back_off = BackOff::default();
        let (one, other) = (Owner(1), Owner(2));
        let least = [1, 2, 4, 8, 16, 32, 64, 128, 128, 128];
        assert_eq!(waits_ms(&back_off, one, 0), least);
        let most = [1, 3, 6, 11, 20, 37, 70, 128, 128, 128];
        assert_eq!(waits_ms(&back_off, other, u64::MAX), most);
        back_off.reset(one);
        assert_eq!(waits_ms(&back_off, one, 0), least);
        assert_eq!(back_off.next(other, 0).as_millis(), 128);
    }
}
