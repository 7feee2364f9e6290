//! The watchdog: renews the lease of a lock for as long as its process lives, until the lock is
//! released.
//!
//! A timer fires when a third of the lease has passed and renews by script, if the hold still
//! exists. *True*: the timer is set again. *False*: the watchdog stops. An *error*: see
//! [`OnError`]. One timer serves all owners of a lock in a process, and renews for the first of
//! them, as in Redisson 3.23.5.
//!
//! Redisson sends renewals through the pool from which all its commands take their connections,
//! so one that waits for its reply does not delay the others. Here the watchdog has a
//! connection of its own, which is equivalent.

use locklab_history::Failpoint;
use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::Owner;
use crate::lock::Boxed;
use locklab_env::redis::Error;
use locklab_env::{Duration, Env};

/// Renews an owner's hold; returns whether it still exists.
pub(crate) type Renew = Rc<dyn Fn(Owner) -> Boxed<'static, Result<bool, Error>>>;

/// What the watchdog does when a renewal fails, after all retransmissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// It stops until the lock is taken again: Redisson before 3.43.
    #[default]
    Stop,
    /// It tries again when another third of the lease has passed: Redisson since then.
    Retry,
}

/// The watchdog of one lock in one process.
pub(crate) struct Watchdog<E: Env> {
    env: E,
    period: Duration,
    on_error: OnError,
    renew: Renew,
    watched: Rc<RefCell<Watched>>,
}

/// The owners for which the lock is renewed.
#[derive(Default)]
struct Watched {
    /// The owners in the order of their arrival, with the number of their holds.
    holders: Vec<(Owner, u32)>,
    /// The number of the current timer. An older one ends when it fires.
    timer: u64,
}

impl<E: Env> Watchdog<E> {
    /// A watchdog that renews leases of `lease_ms`.
    pub(crate) fn new(env: E, lease_ms: u64, on_error: OnError, renew: Renew) -> Self {
        Self {
            env,
            period: Duration::from_millis(lease_ms) / 3,
            on_error,
            renew,
            watched: Rc::default(),
        }
    }

    /// Adds one hold of `owner`.
    pub(crate) fn watch(&self, owner: Owner) {
        let mut watched = self.watched.borrow_mut();
        let is_first = watched.holders.is_empty();
        let known = watched
            .holders
            .iter_mut()
            .find(|(known, _)| *known == owner);
        match known {
            Some((_, holds)) => *holds += 1,
            None => watched.holders.push((owner, 1)),
        }
        if is_first {
            watched.timer += 1;
            let timer = Timer {
                env: self.env.clone(),
                period: self.period,
                on_error: self.on_error,
                renew: self.renew.clone(),
                watched: self.watched.clone(),
                number: watched.timer,
            };
            self.env.spawn(timer.run());
        }
    }

    /// Removes one hold of `owner`, released or not. Renewals end with the last hold of the
    /// last owner.
    pub(crate) fn unwatch(&self, owner: Owner) {
        let mut watched = self.watched.borrow_mut();
        for (known, holds) in &mut watched.holders {
            if *known == owner {
                *holds -= 1;
            }
        }
        watched.holders.retain(|(_, holds)| *holds > 0);
    }
}

struct Timer<E: Env> {
    env: E,
    period: Duration,
    on_error: OnError,
    renew: Renew,
    watched: Rc<RefCell<Watched>>,
    number: u64,
}

impl<E: Env> Timer<E> {
    async fn run(self) {
        loop {
            self.env.sleep(self.period).await;
            let Some(owner) = self.first_holder() else {
                return;
            };
            self.env.reach(Failpoint::Renewing).await;
            let renewed = (self.renew)(owner).await;
            if self.first_holder().is_none() {
                return;
            }
            match (renewed, self.on_error) {
                (Ok(true), _) | (Err(_), OnError::Retry) => {}
                (Ok(false), _) | (Err(_), OnError::Stop) => {
                    self.watched.borrow_mut().holders.clear();
                    return;
                }
            }
        }
    }

    /// The owner to renew for; `None` if this timer is no longer needed.
    fn first_holder(&self) -> Option<Owner> {
        let watched = self.watched.borrow();
        let first = watched.holders.first().map(|(owner, _)| *owner);
        first.filter(|_| watched.timer == self.number)
    }
}
