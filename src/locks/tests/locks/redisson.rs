//! `redisson`: its keys, fields and messages on a simulated node and on a real server, and
//! its renewal in virtual time.

use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_env::redis::{Reply, Subscription};
use locklab_history::{ClockKind, Name};
use locklab_locks::{DynLock, LockError, Locker, Owner};

use crate::stage::{attempt, attempt_of, call, lock, on_both, on_nodes};

pub(crate) const CHANNEL: &str = "redisson_lock__channel:{lock}";

pub(crate) fn redisson<E: Env>(env: &E, nodes: &[Name], more: &str) -> Rc<dyn DynLock> {
    lock(env, nodes, &format!("name = \"redisson\"\n{more}"))
}

pub(crate) fn locker<E: Env>(env: &E, nodes: &[Name], more: &str) -> Locker<E, NoopObserver> {
    Locker::new(env.clone(), redisson(env, nodes, more), NoopObserver)
}

pub(crate) async fn integer<E: Env>(env: &E, node: &Name, command: &[&str]) -> i64 {
    let reply = call(env, node, command).await;
    reply
        .integer()
        .unwrap_or_else(|| panic!("{command:?}: {reply:?}"))
}

pub(crate) async fn listen<E: Env>(env: &E, node: &Name, channel: &str) -> Subscription {
    let limit = Some(Duration::from_secs(5));
    let opening = Subscription::open(env, node, channel, limit);
    opening.await.expect("the node lets anybody subscribe")
}

async fn locks_and_unlocks(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let messages = listen(&env, n1, CHANNEL).await;
    let one = redisson(&env, &nodes, "lease_ms = 20_000");
    let other = redisson(&env, &nodes, "lease_ms = 20_000");

    // A hash with the holder's field, and a lease.
    let first = attempt_of(&one, Owner(7)).await.expect("the lock is free");
    let uuid = first.token.strip_suffix(":7").expect("uuid:thread-id");
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
    let kind = call(&env, n1, &["TYPE", "lock"]).await;
    assert_eq!(kind, Reply::Status("hash".into()));
    let all = call(&env, n1, &["HGETALL", "lock"]).await;
    let field = Reply::Bulk(first.token.clone().into_bytes().into());
    assert_eq!(all, Reply::Array(vec![field, Reply::Bulk("1".into())]));
    let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
    assert!((15_000..=20_000).contains(&left_ms), "{left_ms} ms");

    // Others get the remaining lease, including other owners in the same process.
    for (lock, owner) in [(&other, Owner(7)), (&one, Owner(8))] {
        match attempt_of(lock, owner).await {
            Err(LockError::NotAcquired {
                free_in: Some(left),
                ..
            }) => assert!(left > Duration::from_secs(15), "{left:?}"),
            other => panic!("{other:?}"),
        }
    }

    // The owner reenters the lock; each grant is released.
    call(&env, n1, &["PEXPIRE", "lock", "10000"]).await;
    let second = attempt_of(&one, Owner(7)).await.expect("its own lock");
    let count = call(&env, n1, &["HGET", "lock", &first.token]).await;
    assert_eq!(count, Reply::Bulk("2".into()));
    let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
    assert!(left_ms > 15_000, "a full lease again: {left_ms} ms");
    call(&env, n1, &["PEXPIRE", "lock", "10000"]).await;
    assert_eq!(one.release(&second).await.expect("its own"), 0);
    let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
    assert!(left_ms > 15_000, "a full lease again: {left_ms} ms");

    // Renewed by hand, as the watchdog does.
    call(&env, n1, &["PEXPIRE", "lock", "10000"]).await;
    let extended = one.extend(&first).await.expect("its own");
    assert!(extended.deadline.map(|d| d.at_ns) > first.deadline.map(|d| d.at_ns));
    let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
    assert!(left_ms > 15_000, "a full lease again: {left_ms} ms");

    // A release by another client has no effect.
    let foreign = attempt_of(&other, Owner(7)).await;
    assert!(foreign.is_err());
    let mut not_its = first.clone();
    not_its.token = "somebody:1".into();
    assert!(matches!(
        other.release(&not_its).await,
        Err(LockError::Lost(_))
    ));
    assert!(matches!(
        other.extend(&not_its).await,
        Err(LockError::Lost(_))
    ));
    assert!(one.is_held(&first).await.expect("the node answers"));

    // The last release deletes the key and publishes a message, and no release follows.
    assert_eq!(one.release(&first).await.expect("its own"), 1);
    assert_eq!(integer(&env, n1, &["EXISTS", "lock"]).await, 0);
    assert_eq!(messages.next().await, "0");
    assert!(matches!(one.release(&first).await, Err(LockError::Lost(_))));
    assert!(!one.is_held(&first).await.expect("the node answers"));
    attempt(&other).await.expect("the lock is free again");
}

#[test]
fn keys_fields_leases_and_messages_are_redissons() {
    on_both!(1, locks_and_unlocks);
}

async fn keeps_answers(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let messages = listen(&env, n1, CHANNEL).await;
    let lock = redisson(&env, &nodes, "lease_ms = 20_000\nlatch = true");
    let outer = attempt(&lock).await.expect("the lock is free");
    let inner = attempt(&lock).await.expect("its own lock");
    assert_eq!(lock.release(&inner).await.expect("its own"), 0);
    assert_eq!(lock.release(&outer).await.expect("its own"), 1);
    assert_eq!(messages.next().await, "0");
    assert!(matches!(
        lock.release(&outer).await,
        Err(LockError::Lost(_))
    ));
    // Once a reply has arrived, its key is deleted.
    while integer(&env, n1, &["DBSIZE"]).await > 0 {
        env.sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_latched_release_does_the_same_and_leaves_nothing_behind() {
    on_both!(1, keeps_answers);
}

/// The effect of the script with a latch on the keys, and its same reply to a repeated
/// request.
async fn answers_again(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let script = include_str!("../../scripts/redisson_release_latched.lua");
    let release = async |request: &str| {
        let latch = format!("redisson_unlock_latch:{{lock}}:{request}");
        let keys = ["lock", CHANNEL, &latch];
        let arguments = ["0", "20000", "uuid:1", "9000"];
        let command = [&["EVAL", script, "3"], &keys[..], &arguments[..]].concat();
        let reply = call(&env, n1, &command).await;
        let kept = call(&env, n1, &["GET", &latch]).await;
        let left_ms = integer(&env, n1, &["PTTL", &latch]).await;
        (reply, kept, left_ms)
    };
    call(&env, n1, &["HSET", "lock", "uuid:1", "2"]).await;
    for (request, answer, kept) in [
        ("a", Reply::Integer(0), Some("0")),
        ("a", Reply::Integer(0), Some("0")),
        ("b", Reply::Integer(1), Some("1")),
        ("b", Reply::Integer(1), Some("1")),
        ("c", Reply::Nil, None),
    ] {
        let (reply, latch, left_ms) = release(request).await;
        assert_eq!(reply, answer, "request {request}");
        let expected = kept.map_or(Reply::Nil, |kept| Reply::Bulk(kept.into()));
        assert_eq!(latch, expected, "request {request}");
        let lease = if kept.is_some() {
            5_000..=9_000
        } else {
            -2..=-2
        };
        assert!(lease.contains(&left_ms), "request {request}: {left_ms} ms");
    }
}

#[test]
fn repeated_request_is_answered_twice_and_executed_once() {
    on_both!(1, answers_again);
}

/// The lease of a live holder is renewed until it releases the lock.
#[test]
fn watchdog_renews_until_the_release_but_not_a_lease_given_by_the_user() {
    on_nodes(1, 0, async |env, nodes| {
        let lock = redisson(&env, &nodes, "");
        let grant = attempt(&lock).await.expect("the lock is free");
        assert_eq!(grant.deadline, None);
        let inner = attempt(&lock).await.expect("its own lock");
        let mut shortest_ms = i64::MAX;
        for second in 0..100 {
            if second == 50 {
                assert_eq!(lock.release(&inner).await.expect("its own"), 0);
            }
            env.sleep(Duration::from_secs(1)).await;
            shortest_ms = shortest_ms.min(integer(&env, &nodes[0], &["PTTL", "lock"]).await);
        }
        // Renewed every ten seconds, observed every second; each within 20 ms.
        assert!((19_950..=21_050).contains(&shortest_ms), "{shortest_ms} ms");
        assert_eq!(lock.release(&grant).await.expect("its own"), 1);

        // A lock that another client puts there is not renewed.
        call(&env, &nodes[0], &["HSET", "lock", &grant.token, "1"]).await;
        call(&env, &nodes[0], &["PEXPIRE", "lock", "60000"]).await;
        env.sleep(Duration::from_secs(40)).await;
        let left_ms = integer(&env, &nodes[0], &["PTTL", "lock"]).await;
        assert!((19_000..=20_000).contains(&left_ms), "{left_ms} ms");
        call(&env, &nodes[0], &["DEL", "lock"]).await;

        let lock = redisson(&env, &nodes, "lease_ms = 20_000");
        attempt(&lock).await.expect("the lock is free");
        env.sleep(Duration::from_secs(21)).await;
        assert_eq!(integer(&env, &nodes[0], &["EXISTS", "lock"]).await, 0);
    });
}

/// *False: stop.* The watchdog does not renew a later lock.
#[test]
fn a_watchdog_that_finds_the_lock_gone_stops() {
    on_nodes(1, 0, async |env, nodes| {
        let n1 = &nodes[0];
        let grant = attempt(&redisson(&env, &nodes, "")).await.expect("free");
        call(&env, n1, &["DEL", "lock"]).await;
        env.sleep(Duration::from_secs(11)).await;
        call(&env, n1, &["HSET", "lock", &grant.token, "1"]).await;
        call(&env, n1, &["PEXPIRE", "lock", "25000"]).await;
        env.sleep(Duration::from_secs(22)).await;
        let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
        assert!((2_900..=3_000).contains(&left_ms), "{left_ms} ms");
    });
}

/// A client's own lease is counted from before the request, on the client's clock.
#[test]
fn the_deadline_comes_before_the_lease_is_over() {
    on_nodes(1, 0, async |env, nodes| {
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let lock = redisson(&env, &nodes, "lease_ms = 20_000");
        let grant = attempt(&lock).await.expect("the lock is free");
        let deadline = grant.deadline.expect("a lease of its own");
        assert_eq!(deadline.at_ns - before_ns, 20_000_000_000);
        let over = Duration::from_nanos(deadline.at_ns - env.now_ns(deadline.clock));
        env.sleep(over).await;
        // It was set one way later than it was asked for, and asked for one way ago.
        env.sleep(Duration::from_millis(100)).await;
        assert!(!lock.is_held(&grant).await.expect("the node answers"));
    });
}
