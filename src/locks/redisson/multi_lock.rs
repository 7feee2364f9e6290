//! Several locks taken as one, after `RedissonMultiLock` and `RedissonRedLock`.
//!
//! *lock*: repeats *tryLock* with a wait time that is drawn (if the user gave no lease, it is
//! 1500 ms for each lock).
//!
//! *tryLock*, with a wait time and perhaps a lease:
//!
//! 1. Take the locks one after the other, with a lease of twice the wait time if the user gave
//!    a lease. [`Kind`] determines how long to wait for each.
//! 2. As soon as too many locks fail, release all that were taken, and start again.
//! 3. When the wait time is over by the wall clock, release all and fail.
//! 4. If the user gave a lease, set it on all that were taken.
//!
//! Nothing compares the elapsed time with a lease, and step 4 does not check who owns the locks
//! that it extends. The deadline of a grant is counted from before step 4, the last that sets a
//! lease; Redisson gives no deadline.
//!
//! Two defects of certain releases are left out, since they would hide the algorithm: 3.23.5
//! treats the lease of `lock(lease, unit)` as milliseconds whatever the unit, and a later
//! release multiplies it by the unit in each round.

use futures_util::future::join_all;

use super::member::{Member, since, wall_ns};
use super::params::{Lease, Shared, now_ns};
use crate::algorithm::{Bound, EXPIRY_MS};
use crate::lock::Lock;
use crate::{Grant, KEY, LockError, Request};
use locklab_env::{Duration, Env};
use locklab_history::{Failpoint, Name};

/// How long `lock` waits for each of its locks, in milliseconds.
const WAIT_FOR_EACH_MS: u64 = 1_500;

/// How many of the locks are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All of them; each may take the whole wait time. `RedissonMultiLock`.
    All,
    /// A majority; each may take its share of the wait time. `RedissonRedLock`.
    Majority,
}

impl Kind {
    /// How many of `count` locks may fail.
    fn may_fail(self, count: usize) -> usize {
        match self {
            Kind::All => 0,
            Kind::Majority => count - (count / 2 + 1),
        }
    }

    /// How long to wait for one of `count` locks.
    fn share(self, wait: Duration, count: usize) -> Duration {
        match self {
            Kind::All => wait,
            Kind::Majority => (wait / count as u32).max(Duration::from_millis(1)),
        }
    }
}

/// Several locks combined, as used by one process.
pub(crate) struct MultiLock<E: Env> {
    env: E,
    kind: Kind,
    lease: Lease,
    members: Vec<Member<E>>,
}

impl<E: Env> MultiLock<E> {
    /// A lock on each of `nodes`.
    pub(crate) fn new(env: E, nodes: &[Name], shared: Shared, kind: Kind) -> Self {
        let member = |node| Member::new(env.clone(), node, KEY, shared);
        Self {
            members: nodes.iter().map(member).collect(),
            env,
            kind,
            lease: shared.lease,
        }
    }

    /// Draws the wait time of `lock`.
    fn draw_wait(&self) -> Duration {
        let base_ms = WAIT_FOR_EACH_MS * self.members.len() as u64;
        let (from_ms, to_ms) = match self.lease {
            Lease::Renewed { .. } => return Duration::from_millis(base_ms),
            Lease::Given { ms } if ms <= base_ms => (ms / 2, ms),
            Lease::Given { ms } => (base_ms, ms),
        };
        let span_ms = u128::from(to_ms - from_ms);
        let drawn_ms = ((u128::from(self.env.random()) * span_ms) >> 64) as u64;
        Duration::from_millis((from_ms + drawn_ms).max(1))
    }

    /// Steps 1 to 3; returns the locks that were taken, if they are enough.
    async fn try_lock(&self, request: Request, wait: Duration) -> Option<Vec<&Member<E>>> {
        let owner = request.owner;
        let lease_ms = match self.lease {
            Lease::Given { .. } if !wait.is_zero() => wait.as_millis() as u64 * 2,
            lease => lease.ms(),
        };
        let count = self.members.len();
        let may_fail = self.kind.may_fail(count);
        let share = self.kind.share(wait, count);
        let started_ns = wall_ns(&self.env);
        let (mut taken, mut failed) = (Vec::new(), 0);
        let mut members = self.members.iter();
        let mut left = wait;
        while let Some(member) = members.next() {
            let is_taken = match member.try_lock(owner, share.min(left), lease_ms).await {
                Ok(is_taken) => is_taken,
                Err(error) => {
                    if let LockError::Unknown(_) = error {
                        // It may have been taken all the same.
                        let _ = member.unlock(owner).await;
                    }
                    false
                }
            };
            if is_taken {
                taken.push(member);
            } else if count - taken.len() == may_fail {
                break;
            } else if failed == may_fail {
                unlock(&taken, request).await;
                if wait.is_zero() {
                    return None;
                }
                (taken, failed) = (Vec::new(), 0);
                members = self.members.iter();
            } else {
                failed += 1;
            }
            if !wait.is_zero() {
                left = wait.saturating_sub(since(&self.env, started_ns));
                if left.is_zero() {
                    unlock(&taken, request).await;
                    return None;
                }
            }
        }
        Some(taken)
    }
}

impl<E: Env> Lock for MultiLock<E> {
    async fn connect(&self) {
        join_all(self.members.iter().map(Member::connect)).await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let wait = request.wait.unwrap_or_else(|| self.draw_wait());
        let Some(taken) = self.try_lock(request, wait).await else {
            return Err(LockError::taken("too few of the locks were taken in time"));
        };
        let mut grant = self.members[0].grant(request.owner);
        if let Lease::Given { ms } = self.lease {
            // Step 4.
            self.env.reach(Failpoint::Prolonging).await;
            grant.deadline = self.lease.deadline(now_ns(&self.env));
            join_all(taken.iter().map(|member| member.expire(ms))).await;
        }
        Ok(grant)
    }

    /// An attempt includes its own wait, so the next follows immediately.
    async fn wait(&self, _: Request, _: &LockError) {}

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let deadline = self.lease.deadline(now_ns(&self.env));
        let extending = self.members.iter().map(|member| member.extend(grant.owner));
        let extended = join_all(extending).await.iter().flatten().count();
        match self.is_enough(extended) {
            true => Ok(Grant {
                deadline,
                ..grant.clone()
            }),
            false => Err(LockError::Lost(format!("{extended} nodes extended it"))),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        let mut deleted = 0;
        match self.kind {
            // The first failure keeps the remaining locks from being released.
            Kind::All => {
                for member in &self.members {
                    deleted += member.unlock(grant.owner).await?;
                }
            }
            // Releases all, even if some fail.
            Kind::Majority => {
                let unlocking = self.members.iter().map(|member| member.unlock(grant.owner));
                deleted += join_all(unlocking).await.iter().flatten().sum::<u32>();
            }
        }
        Ok(deleted)
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let asking = self
            .members
            .iter()
            .map(|member| member.is_held(grant.owner));
        let answers = join_all(asking).await;
        Ok(self.is_enough(answers.iter().flatten().filter(|held| **held).count()))
    }
}

impl<E: Env> MultiLock<E> {
    fn is_enough(&self, count: usize) -> bool {
        self.members.len() - count <= self.kind.may_fail(self.members.len())
    }
}

/// Releases the locks that were taken, ignoring failures.
async fn unlock<E: Env>(taken: &[&Member<E>], request: Request) {
    join_all(taken.iter().map(|member| member.unlock(request.owner))).await;
}

/// See [`Algorithm::bound`](crate::Algorithm::bound): while a lock is being taken, its lease is
/// twice the wait time; then one more round may be under way, and one follows. The locks are
/// taken in turn, and each lease set then likewise.
pub(crate) fn bound(shared: &Shared, nodes: u32) -> Bound {
    let base_ms = WAIT_FOR_EACH_MS * u64::from(nodes);
    let (lease_ms, wait_ms) = match shared.lease {
        Lease::Renewed { ms } => (ms, base_ms),
        Lease::Given { ms } => (ms * 2, ms),
    };
    let of_one = shared.bound(0);
    Bound {
        by_clock_ms: lease_ms + EXPIRY_MS + 2 * wait_ms,
        round_trips: nodes * of_one.round_trips,
        ..of_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisson::resend::Resend;
    use crate::redisson::watchdog::OnError;
    use locklab_env::noop::NoopEnv;

    /// The shortest and the longest wait of `lock` on this many nodes, in milliseconds.
    #[track_caller]
    fn check(lease: Lease, count: usize, expected_ms: [u128; 2]) {
        let shared = Shared {
            lease,
            on_error: OnError::Stop,
            resend: Resend {
                times: 0,
                reply_timeout_ms: 1000,
                interval_ms: 100,
            },
            check_replicas: false,
        };
        let drawn_ms = [0, u64::MAX].map(|drawn| {
            let env = NoopEnv {
                drawn,
                ..NoopEnv::default()
            };
            let nodes = vec![Name::from("n1"); count];
            let lock = MultiLock::new(env, &nodes, shared, Kind::All);
            lock.draw_wait().as_millis()
        });
        assert_eq!(drawn_ms, expected_ms);
    }

    /// `RedissonMultiLock.lock`: from half of the lease to the lease if that is at most 1500 ms for each
    /// lock; if it is longer, from there to the lease; without a lease 1500 ms for each.
    #[test]
    fn the_wait_is_drawn_from_the_lease_and_the_number_of_locks() {
        check(Lease::Given { ms: 1000 }, 3, [500, 999]);
        check(Lease::Given { ms: 4500 }, 3, [2250, 4499]);
        check(Lease::Given { ms: 6500 }, 3, [4500, 6499]);
        check(Lease::Renewed { ms: 1000 }, 3, [4500, 4500]);
        check(Lease::Renewed { ms: 1000 }, 5, [7500, 7500]);
    }
}
