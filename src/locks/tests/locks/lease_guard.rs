//! `lease-guard`: the value has the end of the lease, which clients compare with clocks of bounded error.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::{ClockKind, Name};
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both};

const LEASE: &str = "name = \"lease-guard\"\nttl_ms = 300\nuncertainty_ms = 40";

/// The end that the key's value has, in nanoseconds.
async fn end(env: &impl Env, node: &Name) -> u64 {
    let Reply::Bulk(value) = call(env, node, &["GET", "lock"]).await else {
        panic!("the key has no value");
    };
    let value = String::from_utf8_lossy(&value).into_owned();
    let (end, token) = value.split_once(' ').expect("an end and a token");
    assert_eq!(token.len(), 32, "{token}");
    end.parse().expect("a time")
}

/// The holder stops 40 ms before the end, and the next one begins 40 ms after it.
async fn costs_the_uncertainty_twice(env: impl Env, nodes: Vec<Name>) {
    let (one, other) = (lock(&env, &nodes, LEASE), lock(&env, &nodes, LEASE));
    let before_ns = env.now_ns(ClockKind::Wall);
    let grant = attempt(&one).await.expect("the lock is free");
    let end_ns = end(&env, &nodes[0]).await;
    assert!(end_ns >= before_ns + 300_000_000);
    let deadline = grant.deadline.expect("a lease");
    assert_eq!(deadline.clock, ClockKind::Wall);
    assert_eq!(deadline.at_ns, end_ns - 40_000_000);
    loop {
        match attempt(&other).await {
            Ok(next) => {
                // The time at which the new lease began is not before the old one was over.
                let began_ns = end(&env, &nodes[0]).await - 300_000_000;
                assert!(began_ns > end_ns + 40_000_000, "{began_ns} {end_ns}");
                assert!(other.is_held(&next).await.expect("the node answers"));
                break;
            }
            Err(LockError::NotAcquired { .. }) => env.sleep(Duration::from_millis(1)).await,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(!one.is_held(&grant).await.expect("the node answers"));
    // The late one neither extends nor deletes the next one's lock.
    assert!(matches!(one.extend(&grant).await, Err(LockError::Lost(_))));
    assert!(matches!(one.release(&grant).await, Err(LockError::Lost(_))));
    let left = call(&env, &nodes[0], &["EXISTS", "lock"]).await;
    assert_eq!(left, Reply::Integer(1));
}

#[test]
fn a_lease_that_is_not_released_costs_the_uncertainty_twice() {
    on_both!(1, costs_the_uncertainty_twice);
}

/// Of two clients that have seen the same lease end, one replaces it.
async fn is_taken_over_once(env: impl Env, nodes: Vec<Name>) {
    let lease = "name = \"lease-guard\"\nttl_ms = 300\nuncertainty_ms = 0";
    let (one, other) = (lock(&env, &nodes, lease), lock(&env, &nodes, lease));
    call(&env, &nodes[0], &["SET", "lock", "1 of-somebody"]).await;
    let (first, second) = tokio::join!(attempt(&one), attempt(&other));
    assert_eq!(
        u8::from(first.is_ok()) + u8::from(second.is_ok()),
        1,
        "{first:?} {second:?}"
    );
    for (client, grant) in [(&one, first), (&other, second)] {
        let Ok(grant) = grant else { continue };
        let longer = client.extend(&grant).await.expect("its lease is not over");
        assert!(matches!(
            client.extend(&grant).await,
            Err(LockError::Lost(_))
        ));
        assert_eq!(client.release(&longer).await.expect("answers"), 1);
    }
}

#[test]
fn of_two_that_see_the_same_end_one_takes_the_lock_over() {
    on_both!(1, is_taken_over_once);
}

async fn is_not_extended_when_it_may_be_over(env: impl Env, nodes: Vec<Name>) {
    let lock = lock(
        &env,
        &nodes,
        "name = \"lease-guard\"\nttl_ms = 300\nuncertainty_ms = 200",
    );
    let grant = attempt(&lock).await.expect("the lock is free");
    env.sleep(Duration::from_millis(110)).await;
    assert!(matches!(lock.extend(&grant).await, Err(LockError::Lost(_))));
    assert!(lock.is_held(&grant).await.expect("the node answers"));
}

#[test]
fn a_lease_that_may_be_over_is_not_extended() {
    on_both!(1, is_not_extended_when_it_may_be_over);
}

async fn other_values_are_no_lease(env: impl Env, nodes: Vec<Name>) {
    let lock = lock(&env, &nodes, LEASE);
    call(&env, &nodes[0], &["SET", "lock", "no-lease"]).await;
    let refused = attempt(&lock).await;
    assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
}

#[test]
fn a_key_with_another_value_is_never_taken_over() {
    on_both!(1, other_values_are_no_lease);
}
