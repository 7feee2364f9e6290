//! The user's interface to a lock: `acquire`, `try_acquire`, and a guard.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::Observer;
use locklab_history::{Event, Failpoint, Name, Op, Outcome};
use locklab_locks::{LockError, Locker, Owner};

use crate::stage::{lock, on_both, on_nodes};

/// Collects the recorded events.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Vec<Event>>>);

impl Observer for Notes {
    fn record(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }

    async fn reach(&self, _: Failpoint) {}

    fn next_call(&self) -> u32 {
        1
    }

    fn next_grant(&self) -> u32 {
        1
    }
}

fn locker<E: Env>(env: &E, nodes: &[Name], notes: &Notes) -> Locker<E, Notes> {
    let lock = lock(
        env,
        nodes,
        "name = \"set-nx-px\"\nttl_ms = 500\nretry_delay_ms = 20",
    );
    Locker::new(env.clone(), lock, notes.clone())
}

async fn takes_turns(env: impl Env, nodes: Vec<Name>) {
    let notes = Notes::default();
    let one = locker(&env, &nodes, &notes);
    let other = locker(&env, &nodes, &notes);
    let mut guard = one.acquire(Owner::ONLY).await;
    assert!(guard.is_valid());
    assert!(guard.is_held().await.expect("the node answers"));
    let refused = other.try_acquire(Owner::ONLY, Duration::from_millis(100));
    assert!(matches!(
        refused.await.map(drop),
        Err(LockError::NotAcquired { .. })
    ));
    guard.extend().await.expect("the lock is still ours");
    assert_eq!(guard.release().await.expect("the lock is still ours"), 1);
    let guard = other
        .try_acquire(Owner::ONLY, Duration::ZERO)
        .await
        .expect("the lock is free");
    env.sleep(Duration::from_millis(600)).await;
    assert!(!guard.is_valid());
    assert!(!guard.is_held().await.expect("the node answers"));
    assert!(matches!(guard.release().await, Err(LockError::Lost(_))));
}

#[test]
fn holders_take_turns_and_know_whether_they_hold_the_lock() {
    on_both!(1, takes_turns);
}

#[test]
fn try_acquire_tries_until_the_end_of_its_wait() {
    on_nodes(1, 0, async |env, nodes| {
        let notes = Notes::default();
        let holder = locker(&env, &nodes, &notes).acquire(Owner::ONLY).await;
        let waiter = locker(&env, &nodes, &notes);
        // The lease of 500 ms ends within this patience.
        let guard = waiter.try_acquire(Owner::ONLY, Duration::from_millis(700));
        let guard = guard.await.expect("the lease is over");
        guard.release().await.expect("the lock is ours");
        drop(holder);
    });
}

/// The first attempt meets the holder, and the next one would be after ten seconds.
#[test]
fn one_last_attempt_is_made_when_the_patience_ends() {
    on_nodes(1, 0, async |env, nodes| {
        let holder = locker(&env, &nodes, &Notes::default());
        let held = holder.acquire(Owner::ONLY).await;
        let parameters = "name = \"set-nx-px\"\nttl_ms = 500\nretry_delay_ms = 10_000";
        let notes = Notes::default();
        let waiter = Locker::new(env.clone(), lock(&env, &nodes, parameters), notes.clone());
        let attempts = || {
            let of_acquire = |event: &Event| {
                matches!(
                    event,
                    Event::Invoke {
                        op: Op::Acquire,
                        ..
                    }
                )
            };
            notes
                .0
                .take()
                .iter()
                .filter(|event| of_acquire(event))
                .count()
        };
        // The lease of 500 ms ends after this patience, and within the next.
        let refused = waiter.try_acquire(Owner::ONLY, Duration::from_millis(300));
        assert!(refused.await.is_err());
        assert_eq!(attempts(), 2);
        let guard = waiter.try_acquire(Owner::ONLY, Duration::from_millis(300));
        guard
            .await
            .expect("the lease is over")
            .release()
            .await
            .expect("it is ours");
        assert_eq!(attempts(), 2);
        let once = waiter.try_acquire(Owner::ONLY, Duration::ZERO).await;
        drop(once.expect("the lock is free"));
        assert_eq!(attempts(), 1);
        drop(held);
    });
}

#[test]
fn a_guard_that_is_dropped_is_seen_and_leaves_the_lock_taken() {
    on_nodes(1, 0, async |env, nodes| {
        let notes = Notes::default();
        let locker = locker(&env, &nodes, &notes);
        drop(locker.acquire(Owner::ONLY).await);
        assert!(matches!(
            notes.0.take()[..],
            [
                Event::Invoke {
                    op: Op::Acquire,
                    ..
                },
                Event::Complete {
                    outcome: Outcome::Ok,
                    ..
                },
                Event::BeliefBegins { .. },
                Event::BeliefEnds { grant: 1 },
                Event::Dropped { grant: 1 },
            ]
        ));
        let at_once = locker.try_acquire(Owner::ONLY, Duration::ZERO).await;
        assert!(at_once.is_err(), "the lease has not ended");
        let guard = locker.acquire(Owner::ONLY).await;
        notes.0.take();
        guard.release().await.expect("the lock is ours");
        let events = notes.0.take();
        let dropped = |event: &Event| matches!(event, Event::Dropped { .. });
        assert!(!events.iter().any(dropped), "{events:?}");
    });
}
