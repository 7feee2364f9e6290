//! `redisson`: its keys, fields and messages on a simulated node and on a real server, and
//! its waiting and renewing in virtual time.

use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::env::world::Simulated;
use locklab::history::{ClockKind, Name};
use locklab::locks::{DynLock, LockError, Locker, Mode, Owner, Request};
use locklab::observe::Unobserved;
use locklab::redis::Reply;

use crate::stage::{attempt, attempt_of, call, integer, listen, lock, on_both, on_nodes};

const CHANNEL: &str = "redisson_lock__channel:{lock}";

fn redisson<E: Env>(env: &E, nodes: &[Name], more: &str) -> Rc<dyn DynLock> {
    lock(env, nodes, &format!("name = \"redisson\"\n{more}"))
}

fn locker(env: &Simulated, nodes: &[Name], more: &str) -> Locker<Simulated, Unobserved> {
    Locker::new(env.clone(), redisson(env, nodes, more), Unobserved)
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

    // Others are told what is left of it, other owners in the same process too.
    for (lock, owner) in [(&other, Owner(7)), (&one, Owner(8))] {
        match attempt_of(lock, owner).await {
            Err(LockError::NotAcquired {
                free_in: Some(left),
                ..
            }) => assert!(left > Duration::from_secs(15), "{left:?}"),
            other => panic!("{other:?}"),
        }
    }

    // The owner gets in again; each grant is given back.
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

    // Nobody else's release does anything.
    let foreign = attempt_of(&other, Owner(7)).await;
    assert!(foreign.is_err());
    let mut not_its = first.clone();
    not_its.token = "somebody:1".into();
    assert!(matches!(
        other.release(&not_its).await,
        Err(LockError::Lost(_))
    ));
    assert!(one.is_held(&first).await.expect("the node answers"));

    // The last release deletes the key, tells of it, and is the last.
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
    // Once an answer has arrived, its key is deleted.
    while integer(&env, n1, &["DBSIZE"]).await > 0 {
        env.sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_latched_release_does_the_same_and_leaves_nothing_behind() {
    on_both!(1, keeps_answers);
}

/// What the script with a latch does to the keys, and that it answers a request twice.
async fn answers_again(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let script = include_str!("../../src/locks/scripts/redisson_release_latched.lua");
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
fn a_request_that_comes_twice_is_answered_twice_and_done_once() {
    on_both!(1, answers_again);
}

/// The message, not the lease, decides how long a waiter waits.
#[test]
fn a_waiter_is_woken_by_the_release() {
    on_nodes(1, 0, async |env, nodes| {
        let holder = locker(&env, &nodes, "").acquire(Owner::ONLY).await;
        let waiter = locker(&env, &nodes, "");
        env.spawn({
            let env = env.clone();
            async move {
                env.sleep(Duration::from_secs(2)).await;
                holder.release().await.expect("its own");
            }
        });
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let guard = waiter.acquire(Owner::ONLY).await;
        let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
        // The release, the message and the attempt: six ways of 1 to 5 ms, and three
        // more to connect.
        assert!((2_000..2_045).contains(&waited_ms), "{waited_ms} ms");
        guard.release().await.expect("its own");
    });
}

/// Seed 002 says of `tryLock(100, 10, SECONDS)` that it tries every ten seconds. Ten
/// seconds is the lease; what it waits for is the message, or the holder's lease.
#[test]
fn try_lock_waits_for_the_holder_not_for_its_own_lease() {
    for (holders_lease_ms, releases_after_ms, expected_ms) in [
        (90_000, Some(3_000), 3_000..3_045),
        (4_000, None, 4_000..4_045),
    ] {
        on_nodes(1, 0, move |env, nodes| {
            let expected_ms = expected_ms.clone();
            async move {
                let lease = format!("lease_ms = {holders_lease_ms}");
                let holder = locker(&env, &nodes, &lease).acquire(Owner::ONLY).await;
                let before_ns = env.now_ns(ClockKind::Monotonic);
                env.spawn({
                    let env = env.clone();
                    async move {
                        if let Some(ms) = releases_after_ms {
                            env.sleep(Duration::from_millis(ms)).await;
                            holder.release().await.expect("its own");
                        }
                    }
                });
                let waiter = locker(&env, &nodes, "lease_ms = 10_000");
                let trying = waiter.try_acquire(Owner::ONLY, Duration::from_secs(100));
                let guard = trying.await.expect("it comes free");
                let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
                assert!(expected_ms.contains(&waited_ms), "{waited_ms} ms");
                let deadline = guard.deadline().expect("its own lease");
                let left_ms = (deadline.at_ns - before_ns) / 1_000_000 - waited_ms;
                assert!(left_ms <= 10_000, "{left_ms} ms");
            }
        });
    }
}

#[test]
fn patience_ends_while_it_listens() {
    on_nodes(1, 0, async |env, nodes| {
        let _holder = attempt(&redisson(&env, &nodes, "")).await.expect("free");
        let waiter = locker(&env, &nodes, "");
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let tried = waiter
            .try_acquire(Owner::ONLY, Duration::from_secs(3))
            .await;
        assert!(matches!(tried, Err(LockError::NotAcquired { .. })));
        let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
        assert!((3_000..3_020).contains(&waited_ms), "{waited_ms} ms");
        // It has stopped listening.
        env.sleep(Duration::from_secs(1)).await;
        let count = call(&env, &nodes[0], &["PUBSUB", "NUMSUB", CHANNEL]).await;
        let nobody = Reply::Array(vec![Reply::Bulk(CHANNEL.into()), Reply::Integer(0)]);
        assert_eq!(count, nobody);
    });
}

/// The lease of a live holder is renewed, until it gives the lock back.
#[test]
fn the_watchdog_renews_until_the_release_and_a_lease_of_ones_own_is_not_renewed() {
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
        // Renewed every ten seconds, seen every second; each within 20 ms.
        assert!((19_950..=21_050).contains(&shortest_ms), "{shortest_ms} ms");
        assert_eq!(lock.release(&grant).await.expect("its own"), 1);

        // Nothing renews what another puts there.
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

/// PTTL −1: the waiter listens for a message that never comes.
#[test]
fn a_waiter_never_wakes_from_a_lock_without_lease_that_is_deleted_silently() {
    on_nodes(1, 0, async |env, nodes| {
        call(&env, &nodes[0], &["HSET", "lock", "uuid:1", "1"]).await;
        env.spawn({
            let (env, n1) = (env.clone(), nodes[0].clone());
            async move {
                env.sleep(Duration::from_secs(1)).await;
                call(&env, &n1, &["DEL", "lock"]).await;
            }
        });
        let waiter = redisson(&env, &nodes, "");
        let request = Request {
            owner: Owner::ONLY,
            wait: Some(Duration::from_secs(300)),
            mode: Mode::Exclusive,
        };
        let failed = attempt(&waiter).await.expect_err("somebody has it");
        waiter.wait(request, &failed).await;
        let failed = attempt(&waiter).await.expect_err("somebody has it");
        let before_ns = env.now_ns(ClockKind::Monotonic);
        waiter.wait(request, &failed).await;
        let waited_s = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000_000;
        assert_eq!(waited_s, 300, "all of its patience");
        attempt(&waiter).await.expect("it was free all the time");
    });
}
