//! `getset` and `getset-as-listed`: the value is the time of expiry, or of the grant.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::{ClockKind, Name};
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both};

const GETSET: &str = "name = \"getset\"\nttl_ms = 300";

fn now_ms(env: &impl Env) -> u64 {
    env.now_ns(ClockKind::Wall) / 1_000_000
}

async fn value(env: &impl Env, node: &Name) -> u64 {
    match call(env, node, &["GET", "lock"]).await {
        Reply::Bulk(value) => String::from_utf8_lossy(&value).parse().expect("a time"),
        reply => panic!("{reply:?}"),
    }
}

async fn holds_by_its_time(env: impl Env, nodes: Vec<Name>) {
    let (one, other) = (lock(&env, &nodes, GETSET), lock(&env, &nodes, GETSET));
    let before_ms = now_ms(&env);
    let grant = attempt(&one).await.expect("the lock is free");
    let expiry_ms = value(&env, &nodes[0]).await;
    assert!((before_ms + 301..=now_ms(&env) + 301).contains(&expiry_ms));
    let deadline = grant.deadline.expect("a deadline");
    assert_eq!(deadline.at_ns, expiry_ms * 1_000_000);
    // The node has no expiry for the key.
    let lease = call(&env, &nodes[0], &["PTTL", "lock"]).await;
    assert_eq!(lease, Reply::Integer(-1));
    let refused = attempt(&other).await;
    assert!(matches!(
        refused,
        Err(LockError::NotAcquired { free_in: Some(left), .. }) if left <= Duration::from_millis(301)
    ));
    let later = one.extend(&grant).await.expect("its time is not over");
    assert!(later.deadline.expect("a deadline").at_ns >= deadline.at_ns);
    while attempt(&other).await.is_err() {
        env.sleep(Duration::from_millis(5)).await;
    }
    assert!(now_ms(&env) * 1_000_000 > later.deadline.expect("a deadline").at_ns);
    assert!(matches!(one.extend(&later).await, Err(LockError::Lost(_))));
    assert!(matches!(one.release(&later).await, Err(LockError::Lost(_))));
    let left = call(&env, &nodes[0], &["EXISTS", "lock"]).await;
    assert_eq!(left, Reply::Integer(1), "the late one deleted nothing");
}

#[test]
fn the_holders_time_decides_and_the_late_one_deletes_nothing() {
    on_both!(1, holds_by_its_time);
}

/// The effect of each release when a loser has overwritten the value (S2), and when the
/// holder's lease has expired (S3).
async fn releases(env: impl Env, nodes: Vec<Name>) {
    for (release, when_overwritten, when_late) in [
        ("check-time", true, false),
        ("del", true, true),
        ("compare-del", false, false),
    ] {
        let lock = lock(&env, &nodes, &format!("{GETSET}\nrelease = \"{release}\""));
        let grant = attempt(&lock).await.expect("the lock is free");
        let later = (now_ms(&env) + 400).to_string();
        call(&env, &nodes[0], &["GETSET", "lock", &later]).await;
        let released = lock.release(&grant).await;
        assert_eq!(released.is_ok(), when_overwritten, "{release}");
        call(&env, &nodes[0], &["DEL", "lock"]).await;
        let grant = attempt(&lock).await.expect("the lock is free");
        env.sleep(Duration::from_millis(320)).await;
        call(&env, &nodes[0], &["SET", "lock", &later]).await;
        let released = lock.release(&grant).await;
        assert_eq!(released.is_ok(), when_late, "{release}");
        call(&env, &nodes[0], &["DEL", "lock"]).await;
    }
}

#[test]
fn a_comparison_fails_where_a_loser_has_overwritten_and_no_look_deletes_anothers() {
    on_both!(1, releases);
}

/// "GETSET lets exactly one waiter win": true of the return values.
async fn one_wins_and_all_overwrite(env: impl Env, nodes: Vec<Name>) {
    let past = (now_ms(&env) - 1).to_string();
    call(&env, &nodes[0], &["SET", "lock", &past]).await;
    let waiters: Vec<_> = (0..5).map(|_| lock(&env, &nodes, GETSET)).collect();
    for waiter in &waiters {
        waiter.connect().await;
    }
    let outcomes = futures_util::future::join_all(waiters.iter().map(attempt)).await;
    let winners: Vec<_> = outcomes.iter().flatten().collect();
    assert_eq!(winners.len(), 1);
}

#[test]
fn one_of_many_clients_takes_over_an_expired_lock() {
    on_both!(1, one_wins_and_all_overwrite);
}

async fn what_is_no_time_is_not_taken_over(env: impl Env, nodes: Vec<Name>) {
    call(&env, &nodes[0], &["SET", "lock", "no time"]).await;
    let refused = attempt(&lock(&env, &nodes, GETSET)).await;
    assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
    assert_eq!(
        call(&env, &nodes[0], &["GET", "lock"]).await,
        Reply::Bulk("no time".into())
    );
}

#[test]
fn value_that_is_not_a_time_is_never_taken_over() {
    on_both!(1, what_is_no_time_is_not_taken_over);
}

async fn every_lock_is_a_second_old_at_most(env: impl Env, nodes: Vec<Name>) {
    let listed = "name = \"getset-as-listed\"\nunit = \"milliseconds\"";
    let (one, other) = (lock(&env, &nodes, listed), lock(&env, &nodes, listed));
    let grant = attempt(&one).await.expect("the lock is free");
    assert_eq!(grant.deadline, None);
    env.sleep(Duration::from_millis(3)).await;
    let before_ms = now_ms(&env);
    attempt(&other)
        .await
        .expect("the other's time is past though it has the lock");
    assert!(value(&env, &nodes[0]).await >= before_ms);
    assert!(!one.is_held(&grant).await.expect("the node answers"));
    assert_eq!(one.release(&grant).await.expect("the node answers"), 1);
}

#[test]
fn listed_steps_lose_the_lock_when_the_clock_advances() {
    on_both!(1, every_lock_is_a_second_old_at_most);
}

async fn every_attempt_pushes_on(env: impl Env, nodes: Vec<Name>) {
    let expiring = "name = \"getset-as-listed\"\nttl_ms = 60_000";
    let (one, other) = (lock(&env, &nodes, expiring), lock(&env, &nodes, expiring));
    attempt(&one).await.expect("the lock is free");
    let first = value(&env, &nodes[0]).await;
    env.sleep(Duration::from_millis(1100)).await;
    assert!(attempt(&other).await.is_err());
    assert!(value(&env, &nodes[0]).await > first);
}

#[test]
fn with_an_expiry_each_attempt_that_fails_pushes_it_on() {
    on_both!(1, every_attempt_pushes_on);
}
