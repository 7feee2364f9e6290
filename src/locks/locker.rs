//! A lock for the code that uses one: `acquire`, `try_acquire`, and a guard.
//!
//! ```text
//! let guard = locker.acquire(Owner::ONLY).await;
//! // … work, while guard.is_valid()
//! guard.release().await?;
//! ```
//!
//! An [`Observer`] records every call of a user, its result, and every guard that is dropped. A
//! history's calls and beliefs come from these records.

use std::rc::Rc;

use super::lock::{DynLock, Grant, LockError, Mode, Owner, Request};
use locklab_env::observe::Observer;
use locklab_env::{Duration, Env};
use locklab_history::{ClockKind, Deadline, Event, Failpoint, Op, Outcome};

/// A lock as used by one process.
pub struct Locker<E: Env, O: Observer> {
    env: E,
    lock: Rc<dyn DynLock>,
    observer: O,
    mode: Mode,
}

impl<E: Env, O: Observer> Locker<E, O> {
    /// A locker for `lock`.
    pub fn new(env: E, lock: Rc<dyn DynLock>, observer: O) -> Self {
        Self {
            env,
            lock,
            observer,
            mode: Mode::Exclusive,
        }
    }

    /// The same lock, requested in another mode.
    #[must_use]
    pub fn in_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Opens the lock's connections.
    pub async fn connect(&self) {
        self.lock.connect().await;
    }

    /// Tries until the lock is granted. A failed node leads to another attempt, just as another
    /// holder does.
    pub async fn acquire(&self, owner: Owner) -> Guard<E, O> {
        let request = Request {
            owner,
            wait: None,
            mode: self.mode,
        };
        loop {
            match self.attempt(request).await {
                Ok(guard) => return guard,
                Err(failed) => self.lock.wait(request, &failed).await,
            }
        }
    }

    /// Tries until the lock is granted or `wait` is over on the process's monotonic clock;
    /// makes at least one attempt.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub async fn try_acquire(
        &self,
        owner: Owner,
        wait: Duration,
    ) -> Result<Guard<E, O>, LockError> {
        let started_ns = self.env.now_ns(ClockKind::Monotonic);
        let request = || {
            let waited_ns = self.env.now_ns(ClockKind::Monotonic) - started_ns;
            let left = wait.saturating_sub(Duration::from_nanos(waited_ns));
            Request {
                owner,
                wait: Some(left),
                mode: self.mode,
            }
        };
        loop {
            let failed = match self.attempt(request()).await {
                Ok(guard) => return Ok(guard),
                Err(failed) => failed,
            };
            let request = request();
            if request.wait == Some(Duration::ZERO) {
                self.observer.record(Event::reached(Failpoint::GivingUp));
                self.observer.reach(Failpoint::GivingUp).await;
                self.lock.give_up(request).await;
                return Err(failed);
            }
            self.lock.wait(request, &failed).await;
        }
    }

    async fn attempt(&self, request: Request) -> Result<Guard<E, O>, LockError> {
        self.observer.reach(Failpoint::Acquiring).await;
        let call = Call::begin(&self.observer, Op::Acquire);
        let grant = call.end(self.lock.attempt(request).await)?;
        let guard = Guard {
            number: self.observer.next_grant(),
            grant,
            env: self.env.clone(),
            lock: self.lock.clone(),
            observer: self.observer.clone(),
            mode: self.mode,
            is_over: false,
        };
        guard.record_belief();
        self.observer.reach(Failpoint::Acquired).await;
        Ok(guard)
    }
}

/// A lock that is held, as far as its holder knows.
///
/// [`Guard::release`] releases the lock. Dropping the guard does not: the lock then remains
/// until its lease is over, or, if a watchdog renews it, for as long as the process lives. The
/// history shows it as `dropped`.
#[must_use = "a guard that is dropped leaves the lock taken"]
pub struct Guard<E: Env, O: Observer> {
    number: u32,
    grant: Grant,
    env: E,
    lock: Rc<dyn DynLock>,
    observer: O,
    mode: Mode,
    is_over: bool,
}

impl<E: Env, O: Observer> Guard<E, O> {
    /// The grant's number among those of this process.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// When the holder must stop, on its own clock; `None` if the algorithm gives no deadline.
    pub fn deadline(&self) -> Option<Deadline> {
        self.grant.deadline
    }

    /// The fencing token, if the lock gives one.
    pub fn fencing_token(&self) -> Option<u64> {
        self.grant.fencing_token
    }

    /// Whether the deadline is still in the future. Contacts no node; always true without a
    /// deadline.
    pub fn is_valid(&self) -> bool {
        self.grant
            .deadline
            .is_none_or(|deadline| self.env.now_ns(deadline.clock) < deadline.at_ns)
    }

    /// Asks the nodes whether this guard still holds the lock. The answer may be outdated when
    /// it arrives.
    ///
    /// # Errors
    /// If too few of them answer.
    pub async fn is_held(&self) -> Result<bool, LockError> {
        self.lock.is_held(&self.grant).await
    }

    /// Asks for a new full lease.
    ///
    /// # Errors
    /// [`LockError::Lost`] if this guard no longer holds the lock.
    pub async fn extend(&mut self) -> Result<(), LockError> {
        let call = Call::begin(&self.observer, Op::Extend);
        self.grant = call.end(self.lock.extend(&self.grant).await)?;
        self.record_belief();
        Ok(())
    }

    /// Releases the lock; returns how many keys that deleted, summed over the nodes.
    ///
    /// # Errors
    /// [`LockError::Lost`] if this guard no longer held the lock. The guard is consumed even on
    /// an error.
    pub async fn release(mut self) -> Result<u32, LockError> {
        self.observer.reach(Failpoint::Releasing).await;
        self.is_over = true;
        self.observer
            .record(Event::BeliefEnds { grant: self.number });
        let call = Call::begin(&self.observer, Op::Release);
        let released = call.end(self.lock.release(&self.grant).await);
        if let Ok(removed) = released {
            let grant = self.number;
            self.observer.record(Event::Released { grant, removed });
        }
        self.observer.reach(Failpoint::Released).await;
        released
    }

    fn record_belief(&self) {
        self.observer.record(Event::BeliefBegins {
            grant: self.number,
            deadline: self.grant.deadline,
            token: self.grant.fencing_token,
            shared: self.mode == Mode::Shared,
        });
    }
}

impl<E: Env, O: Observer> Drop for Guard<E, O> {
    fn drop(&mut self) {
        if !self.is_over {
            let grant = self.number;
            self.observer.record(Event::BeliefEnds { grant });
            self.observer.record(Event::Dropped { grant });
        }
    }
}

/// A call of the history, between its invocation and its completion.
pub struct Call<'o, O: Observer> {
    observer: &'o O,
    number: u32,
    op: Op,
}

impl<'o, O: Observer> Call<'o, O> {
    /// Records the call of `op`.
    pub fn begin(observer: &'o O, op: Op) -> Self {
        let number = observer.next_call();
        observer.record(Event::Invoke { call: number, op });
        Self {
            observer,
            number,
            op,
        }
    }

    /// Its number among the client's calls.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Records the outcome of the call.
    pub fn complete(self, outcome: Outcome, detail: String) {
        self.observer.record(Event::Complete {
            call: self.number,
            op: self.op,
            outcome,
            detail,
        });
    }

    fn end<T>(self, result: Result<T, LockError>) -> Result<T, LockError> {
        match &result {
            Ok(_) => self.complete(Outcome::Ok, String::new()),
            Err(error @ LockError::Unknown(_)) => {
                self.complete(Outcome::Unknown, error.to_string());
            }
            Err(error @ LockError::Unsupported(_)) => {
                self.complete(Outcome::Unsupported, error.to_string());
            }
            Err(error) => self.complete(Outcome::Failed, error.to_string()),
        }
        result
    }
}
