//! `redisson-fenced`, `redisson-no-publish`, `redisson-spin`: their differences from
//! `redisson`.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_env::redis::{Reply, Subscription};
use locklab_history::{ClockKind, Name};
use locklab_locks::{LockError, Locker, Owner};

use crate::stage::{attempt, call, lock, on_both, on_nodes};

async fn counts_tokens(env: impl Env, nodes: Vec<Name>) {
    let parameters = "name = \"redisson-fenced\"\nlease_ms = 20_000\nlatch = true";
    let one = lock(&env, &nodes, parameters);
    let other = lock(&env, &nodes, parameters);
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let outer = attempt(&one).await.expect("the lock is free");
        assert!(
            attempt(&other).await.is_err(),
            "no token for who has no lock"
        );
        // The same owner again: a different token.
        let inner = attempt(&one).await.expect("its own lock");
        tokens.extend([outer.fencing_token, inner.fencing_token]);
        assert_eq!(one.release(&inner).await.expect("its own"), 0);
        assert_eq!(one.release(&outer).await.expect("its own"), 1);
    }
    assert_eq!(tokens, [1, 2, 3, 4].map(Some));
    let counter = &["GET", "redisson_lock_token:{lock}"];
    let count = call(&env, &nodes[0], counter).await;
    assert_eq!(count, Reply::Bulk("4".into()), "it remains");
    // A lock held without a lease counts as held.
    call(&env, &nodes[0], &["HSET", "lock", "uuid:1", "1"]).await;
    match attempt(&one).await {
        Err(LockError::NotAcquired { free_in: None, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_grant_of_redisson_fenced_has_a_token_of_its_own() {
    on_both!(1, counts_tokens);
}

async fn tells_nobody(env: impl Env, nodes: Vec<Name>) {
    let channel = "redisson_lock__channel:{lock}";
    let limit = Some(Duration::from_secs(5));
    for name in ["redisson-no-publish", "redisson-spin"] {
        let opening = Subscription::open(&env, &nodes[0], channel, limit);
        let messages = opening.await.expect("the node answers");
        let parameters = format!("name = \"{name}\"\nlease_ms = 20_000");
        let lock = lock(&env, &nodes, &parameters);
        let outer = attempt(&lock).await.expect("the lock is free");
        let inner = attempt(&lock).await.expect("its own lock");
        let count = call(&env, &nodes[0], &["HGET", "lock", &outer.token]).await;
        assert_eq!(count, Reply::Bulk("2".into()), "{name}");
        assert_eq!(lock.release(&inner).await.expect("its own"), 0, "{name}");
        assert_eq!(lock.release(&outer).await.expect("its own"), 1, "{name}");
        assert!(matches!(
            lock.release(&outer).await,
            Err(LockError::Lost(_))
        ));
        call(&env, &nodes[0], &["PUBLISH", channel, "the end"]).await;
        assert_eq!(messages.next().await, "the end", "{name}");
    }
}

#[test]
fn two_variants_do_not_publish_a_release() {
    on_both!(1, tells_nobody);
}

/// The holder releases the lock after 2 s of its lease of 20 s.
#[test]
fn spinning_waiter_is_prompt_and_waiter_for_the_lease_is_late() {
    for (name, expected_ms) in [
        // At most 128 ms, and two round trips.
        ("redisson-spin", 2_000..2_150),
        ("redisson-no-publish", 19_950..20_050),
    ] {
        on_nodes(1, 0, move |env, nodes| {
            let expected_ms = expected_ms.clone();
            async move {
                let locker = || {
                    let parameters = format!("name = \"{name}\"\nlease_ms = 20_000");
                    let lock = lock(&env, &nodes, &parameters);
                    Locker::new(env.clone(), lock, NoopObserver)
                };
                let guard = locker().acquire(Owner::ONLY).await;
                let before_ns = env.now_ns(ClockKind::Monotonic);
                env.spawn({
                    let env = env.clone();
                    async move {
                        env.sleep(Duration::from_secs(2)).await;
                        guard.release().await.expect("its own");
                    }
                });
                let _guard = locker().acquire(Owner::ONLY).await;
                let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
                assert!(expected_ms.contains(&waited_ms), "{name}: {waited_ms} ms");
            }
        });
    }
}

/// Without replicas the lock does not wait for any.
async fn locks_without_replicas(env: impl Env, nodes: Vec<Name>) {
    let parameters = "name = \"redisson\"\nlease_ms = 20_000\ncheck_replicas = true";
    let lock = lock(&env, &nodes, parameters);
    let grant = attempt(&lock).await.expect("the lock is free");
    assert_eq!(lock.release(&grant).await.expect("its own"), 1);
}

#[test]
fn replica_check_passes_without_replicas() {
    on_both!(1, locks_without_replicas);
}
