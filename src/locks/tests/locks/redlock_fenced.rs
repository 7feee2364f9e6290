//! `redlock-fenced`.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Name;
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both};

fn parameters(counter: &str) -> String {
    format!("name = \"redlock-fenced\"\nttl_ms = 2000\ncounter = \"{counter}\"")
}

/// Tokens increase from grant to grant, and no key is left behind.
async fn tokens_rise(env: impl Env, nodes: Vec<Name>) {
    for counter in ["resource", "majority", "majority-written-back"] {
        let (one, other) = (
            lock(&env, &nodes, &parameters(counter)),
            lock(&env, &nodes, &parameters(counter)),
        );
        let mut last = None;
        for lock in [&one, &other, &one] {
            let grant = attempt(lock).await.expect("the lock is free");
            assert!(grant.fencing_token > last, "{counter}");
            last = grant.fencing_token;
            assert!(lock.is_held(&grant).await.expect("the nodes answer"));
            let extended = lock.extend(&grant).await.expect("it is ours");
            assert_eq!(extended.fencing_token, last, "{counter}");
            assert_eq!(lock.release(&grant).await.expect("it is ours"), 3);
        }
    }
}

#[test]
fn tokens_increase_whichever_source_issues_them() {
    on_both!(3, tokens_rise);
}

/// K8: a majority's highest counter, with and without writing it back.
async fn counters_out_of_step(env: impl Env, nodes: Vec<Name>) {
    for (counter, on_the_lowest) in [("majority", 1), ("majority-written-back", 8)] {
        for (node, count) in nodes.iter().zip(["7", "3", "0"]) {
            call(&env, node, &["SET", "lock:token", count]).await;
        }
        let lock = lock(&env, &nodes, &parameters(counter));
        let grant = attempt(&lock).await.expect("the lock is free");
        assert_eq!(grant.fencing_token, Some(8), "{counter}");
        let lowest = call(&env, &nodes[2], &["GET", "lock:token"]).await;
        assert_eq!(lowest, Reply::Bulk(on_the_lowest.to_string().into()));
        lock.release(&grant).await.expect("it is ours");
    }
}

#[test]
fn highest_counter_becomes_the_token_and_may_be_written_back() {
    on_both!(3, counters_out_of_step);
}

/// Without a token there is no grant, and no lock is left behind.
async fn without_a_token(env: impl Env, nodes: Vec<Name>) {
    for node in &nodes {
        call(&env, node, &["SET", "lock:token", "no number"]).await;
    }
    let lock = lock(&env, &nodes, &parameters("majority"));
    let refused = attempt(&lock).await;
    assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
    for node in &nodes {
        let left = call(&env, node, &["EXISTS", "lock"]).await;
        assert_eq!(left, Reply::Integer(0));
    }
    // A counter on one of three nodes is no majority.
    call(&env, &nodes[0], &["SET", "lock:token", "7"]).await;
    let refused = attempt(&lock).await;
    assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
    env.sleep(Duration::from_millis(1)).await;
}

#[test]
fn lock_that_got_no_token_is_released() {
    on_both!(3, without_a_token);
}
