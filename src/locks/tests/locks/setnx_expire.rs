//! `setnx-expire`, `setnx-expire-repair` and `setnx-expire-lua`: a lease set in two steps, in
//! two steps that others repair, and in one.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Name;
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both};

const TWO_STEPS: &str = "name = \"setnx-expire\"\nttl_ms = 400";
const REPAIRED: &str = "name = \"setnx-expire-repair\"\nttl_ms = 400";
const SCRIPT: &str = "name = \"setnx-expire-lua\"\nttl_ms = 400";

/// The value that a grant leaves on the node, and that it expires by itself.
async fn each_sets_a_value_and_a_lease(env: impl Env, nodes: Vec<Name>) {
    for parameters in [TWO_STEPS, REPAIRED, SCRIPT] {
        let (one, other) = (
            lock(&env, &nodes, parameters),
            lock(&env, &nodes, parameters),
        );
        let grant = attempt(&one).await.expect("the lock is free");
        let value = call(&env, &nodes[0], &["GET", "lock"]).await;
        assert_eq!(value, Reply::Bulk(grant.token.clone().into()));
        let lease = call(&env, &nodes[0], &["PTTL", "lock"]).await.integer();
        assert!(
            lease.is_some_and(|ms| (1..=400).contains(&ms)),
            "{parameters}: {lease:?}"
        );
        let refused = attempt(&other).await;
        assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
        let extended = one.extend(&grant).await.expect("it is still ours");
        assert!(one.is_held(&grant).await.expect("answers"));
        let deadline = extended.deadline.expect("a lease");
        while attempt(&other).await.is_err() {
            env.sleep(Duration::from_millis(5)).await;
        }
        assert!(
            env.now_ns(deadline.clock) >= deadline.at_ns,
            "{parameters}: taken within the lease"
        );
        assert!(!one.is_held(&grant).await.expect("answers"));
        assert!(matches!(one.extend(&grant).await, Err(LockError::Lost(_))));
        call(&env, &nodes[0], &["DEL", "lock"]).await;
    }
}

#[test]
fn a_lease_is_set_and_ends_and_not_before_the_holder_knows() {
    on_both!(1, each_sets_a_value_and_a_lease);
}

/// A late release deletes another client's lock only if it does not compare the value.
async fn two_of_three_compare(env: impl Env, nodes: Vec<Name>) {
    for (parameters, deletes) in [(TWO_STEPS, true), (REPAIRED, false), (SCRIPT, false)] {
        let lock = lock(&env, &nodes, parameters);
        let grant = attempt(&lock).await.expect("the lock is free");
        call(&env, &nodes[0], &["SET", "lock", "another's"]).await;
        let released = lock.release(&grant).await;
        assert_eq!(released.is_ok(), deletes, "{parameters}");
        let left = call(&env, &nodes[0], &["EXISTS", "lock"]).await;
        assert_eq!(left, Reply::Integer(i64::from(!deletes)), "{parameters}");
        call(&env, &nodes[0], &["DEL", "lock"]).await;
        let grant = attempt(&lock).await.expect("the lock is free");
        assert_eq!(lock.release(&grant).await.expect("it is ours"), 1);
    }
}

#[test]
fn a_late_release_deletes_anothers_lock_unless_it_compares() {
    on_both!(1, two_of_three_compare);
}

async fn one_of_three_repairs(env: impl Env, nodes: Vec<Name>) {
    for (parameters, repairs) in [(TWO_STEPS, false), (REPAIRED, true), (SCRIPT, false)] {
        // The state after a client crashed between SETNX and EXPIRE.
        call(&env, &nodes[0], &["SET", "lock", "a dead client's"]).await;
        let lock = lock(&env, &nodes, parameters);
        assert!(attempt(&lock).await.is_err());
        let lease = call(&env, &nodes[0], &["PTTL", "lock"]).await.integer();
        assert_eq!(lease != Some(-1), repairs, "{parameters}");
        // An existing lease is left alone.
        if repairs {
            call(&env, &nodes[0], &["PEXPIRE", "lock", "100000"]).await;
            assert!(attempt(&lock).await.is_err());
            let lease = call(&env, &nodes[0], &["PTTL", "lock"]).await.integer();
            assert!(lease > Some(90_000), "{lease:?}");
        }
        call(&env, &nodes[0], &["DEL", "lock"]).await;
    }
}

#[test]
fn failed_attempt_repairs_a_missing_lease_if_configured() {
    on_both!(1, one_of_three_repairs);
}
