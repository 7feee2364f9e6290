//! The baselines: locks on a database and on a coordination service, in the simulator.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_locks::LockError;

use crate::stage::{attempt, attempt_of, lock, on_answers, on_servers};
use locklab_locks::Owner;

const UNIQUE: &str = "name = \"database-unique\"";
const CAS: &str = "name = \"database-cas\"\nttl_ms = 1000";
const CONSENSUS: &str = "name = \"consensus\"\nsession_ms = 1000";

#[test]
fn holders_take_turns() {
    for (parameters, servers) in [(UNIQUE, 1), (CAS, 1), (CONSENSUS, 3)] {
        on_servers(parameters, servers, move |env, names| async move {
            let one = lock(&env, &names, parameters);
            let other = lock(&env, &names, parameters);
            let grant = attempt(&one).await.expect("the lock is free");
            assert!(one.is_held(&grant).await.expect("an answer"));
            assert!(matches!(
                attempt(&other).await,
                Err(LockError::NotAcquired { .. })
            ));
            let grant = one.extend(&grant).await.expect("it is still ours");
            assert_eq!(one.release(&grant).await.expect("it is ours"), 1);
            let lost = one.release(&grant).await;
            assert!(matches!(lost, Err(LockError::Lost(_))), "{lost:?}");
            let next = attempt(&other).await.expect("the lock is free again");
            assert!(!one.is_held(&grant).await.expect("an answer"));
            assert!(next.fencing_token >= grant.fencing_token.map(|token| token + 1));
        });
    }
}

#[test]
fn row_without_expiry_outlives_its_owner() {
    for (parameters, comes_free) in [(UNIQUE, false), (CAS, true)] {
        on_servers(parameters, 1, move |env, names| async move {
            let one = lock(&env, &names, parameters);
            attempt(&one).await.expect("the lock is free");
            drop(one);
            env.sleep(Duration::from_millis(1100)).await;
            let other = lock(&env, &names, parameters);
            assert_eq!(attempt(&other).await.is_ok(), comes_free, "{parameters}");
        });
    }
}

#[test]
fn version_check_lets_one_of_two_clients_win() {
    on_servers(CAS, 1, async |env, names| {
        let first = lock(&env, &names, CAS);
        let grant = attempt(&first).await.expect("the lock is free");
        first.release(&grant).await.expect("it is ours");
        // Both clients read the row before either writes it.
        let (one, other) = (lock(&env, &names, CAS), lock(&env, &names, CAS));
        let (one, other) = tokio::join!(attempt(&one), attempt(&other));
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
    });
}

#[test]
fn waiters_are_served_in_the_order_of_the_queue() {
    on_servers(CONSENSUS, 3, async |env, names| {
        let lock = lock(&env, &names, CONSENSUS);
        let held = attempt_of(&lock, Owner(0)).await.expect("the lock is free");
        let served = Rc::new(RefCell::new(Vec::new()));
        let attempts = Rc::new(Cell::new(0));
        for owner in [3, 1, 2].map(Owner) {
            assert!(attempt_of(&lock, owner).await.is_err(), "it is held");
            let (lock, served, attempts) = (lock.clone(), served.clone(), attempts.clone());
            env.spawn(async move {
                let request = locklab_locks::Request {
                    owner,
                    wait: None,
                    mode: locklab_locks::Mode::Exclusive,
                };
                let grant = loop {
                    attempts.set(attempts.get() + 1);
                    match lock.attempt(request).await {
                        Ok(grant) => break grant,
                        Err(failed) => lock.wait(request, &failed).await,
                    }
                };
                served.borrow_mut().push(owner);
                lock.release(&grant).await.expect("it is ours");
            });
        }
        env.sleep(Duration::from_millis(100)).await;
        lock.release(&held).await.expect("it is ours");
        env.sleep(Duration::from_secs(5)).await;
        assert_eq!(*served.borrow(), [3, 1, 2].map(Owner));
        // One failed attempt each, and the one after the wake-up: each client is only woken
        // for its own turn.
        assert_eq!(attempts.get(), 6);
    });
}

/// Its session ended while it waited, and its node with it: there is no node before it, and
/// it is not in the queue.
#[test]
fn client_outside_the_queue_does_not_get_the_lock() {
    const ANSWERS: &[(&str, &str)] = &[
        ("SESSION", ":1\r\n"),
        ("CREATE", "*2\r\n$7\r\n/lock/c\r\n:5\r\n"),
        ("CHILDREN", "*0\r\n"),
    ];
    on_answers(ANSWERS, "+PONG\r\n", async |env, names| {
        let failed = attempt(&lock(&env, &names, CONSENSUS)).await;
        assert!(
            matches!(failed, Err(LockError::NotAcquired { .. })),
            "{failed:?}"
        );
    });
}
