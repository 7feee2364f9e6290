//! Waiting for a message that the lock is free.
//!
//! All owners of a process share one subscription, from when the first of them begins to wait
//! until the last has the lock or gives up. A message wakes one of them.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_vecmap::VecSet;
use tokio::sync::Mutex;

use crate::{Owner, Request};
use locklab_env::redis::{Error, Subscription};
use locklab_env::{Duration, Env, timeout};
use locklab_history::{Failpoint, Name};

/// The message that a release publishes (`LockPubSub.UNLOCK_MESSAGE`).
pub(crate) const UNLOCKED: &str = "0";

/// How long Redisson waits for a subscription (`subscriptionTimeout`), in milliseconds.
const SUBSCRIBE_LIMIT_MS: u64 = 7_500;

/// The subscription of a process's waiters.
pub(crate) struct Listening<E: Env> {
    env: E,
    node: Name,
    channel: String,
    /// The messages that mean that the lock is free.
    wakers: &'static [&'static str],
    subscription: Mutex<Option<Rc<Subscription>>>,
    listeners: RefCell<VecSet<Owner>>,
}

impl<E: Env> Listening<E> {
    /// No owner has subscribed yet.
    pub(crate) fn new(
        env: E,
        node: Name,
        channel: String,
        wakers: &'static [&'static str],
    ) -> Self {
        Self {
            env,
            node,
            channel,
            wakers,
            subscription: Mutex::default(),
            listeners: RefCell::default(),
        }
    }

    /// The first call only subscribes: the lock may have become free before that, so the caller has
    /// to try again. Later calls wait for a message, or for `free_in`, after which the lease ends
    /// without one; `None`: without limit.
    ///
    /// # Errors
    /// If there is no subscription within [`SUBSCRIBE_LIMIT_MS`].
    pub(crate) async fn wait(
        &self,
        request: Request,
        free_in: Option<Duration>,
    ) -> Result<(), Error> {
        let limit = request.within(Duration::from_millis(SUBSCRIBE_LIMIT_MS));
        let is_new = self.listeners.borrow_mut().insert(request.owner);
        let subscription = match self.subscription(limit).await {
            Ok(subscription) => subscription,
            Err(error) => {
                self.leave(request.owner).await;
                return Err(error);
            }
        };
        if !is_new {
            self.env.reach(Failpoint::Waiting).await;
            let limit = [free_in, request.wait].into_iter().flatten().min();
            // Whichever comes first.
            let _ = timeout(&self.env, limit, self.woken(&subscription)).await;
        }
        Ok(())
    }

    async fn subscription(&self, limit: Duration) -> Result<Rc<Subscription>, Error> {
        let mut shared = self.subscription.lock().await;
        if let Some(subscription) = &*shared {
            return Ok(subscription.clone());
        }
        let opening = Subscription::open(&self.env, &self.node, &self.channel, Some(limit));
        let subscription = Rc::new(opening.await?);
        *shared = Some(subscription.clone());
        Ok(subscription)
    }

    async fn woken(&self, subscription: &Subscription) {
        loop {
            let message = subscription.next().await;
            let wakes = self.wakers.iter().any(|waker| waker.as_bytes() == message);
            if wakes {
                return;
            }
        }
    }

    /// Removes an owner that has the lock, or gives up; the subscription ends with the last
    /// one.
    pub(crate) async fn leave(&self, owner: Owner) {
        let was_listening = self.listeners.borrow_mut().remove(&owner);
        if was_listening && self.listeners.borrow().is_empty() {
            self.subscription.lock().await.take();
        }
    }
}
