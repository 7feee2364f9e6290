//! How clients wait for `redisson` while another client holds it, in virtual time.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::{ClockKind, Name};
use locklab_locks::{LockError, Mode, Owner, Request};
use locklab_runner::simulated_env::SimulatedEnv;

use crate::redisson::{CHANNEL, integer, locker, redisson};
use crate::stage::{attempt, call, on_both, on_nodes};

/// The message, not the lease, determines how long a waiter waits.
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
        // The release, the message and the attempt: six one-way latencies of 1 to 5 ms, and
        // three more to connect.
        assert!((2_000..2_045).contains(&waited_ms), "{waited_ms} ms");
        guard.release().await.expect("its own");
    });
}

/// The same on a real server: much sooner than the end of the lease of 30 s.
async fn is_woken(env: impl Env, nodes: Vec<Name>) {
    let holder = locker(&env, &nodes, "").acquire(Owner::ONLY).await;
    env.spawn({
        let env = env.clone();
        async move {
            env.sleep(Duration::from_millis(200)).await;
            holder.release().await.expect("its own");
        }
    });
    let waiter = locker(&env, &nodes, "");
    let trying = waiter.try_acquire(Owner::ONLY, Duration::from_secs(15));
    let guard = trying.await.expect("the release wakes it");
    guard.release().await.expect("its own");
}

#[test]
fn a_waiter_is_woken_on_a_real_server_too() {
    on_both!(1, is_woken);
}

/// The blog text "redisson分布式锁学习" says of `tryLock(100, 10, SECONDS)` that it tries every ten
/// seconds. Ten seconds is the lease; it waits for the message, or for the end of the holder's
/// lease.
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
        // It has unsubscribed.
        env.sleep(Duration::from_secs(1)).await;
        let count = call(&env, &nodes[0], &["PUBSUB", "NUMSUB", CHANNEL]).await;
        let nobody = Reply::Array(vec![Reply::Bulk(CHANNEL.into()), Reply::Integer(0)]);
        assert_eq!(count, nobody);
    });
}

/// PTTL −1: the waiter waits for a message that never comes.
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

/// How long a second client waits for a lock with a lease of 20 s, which its holder releases
/// after 2 s or not at all, in milliseconds.
async fn waits_ms(env: &SimulatedEnv, nodes: &[Name], waiter: &str, releases: bool) -> u64 {
    let holder = locker(env, nodes, "lease_ms = 20_000");
    let guard = holder.acquire(Owner::ONLY).await;
    env.spawn({
        let env = env.clone();
        async move {
            env.sleep(Duration::from_secs(2)).await;
            if releases {
                guard.release().await.expect("its own");
            }
        }
    });
    let before_ns = env.now_ns(ClockKind::Monotonic);
    let guard = locker(env, nodes, waiter).acquire(Owner::ONLY).await;
    let waited_ns = env.now_ns(ClockKind::Monotonic) - before_ns;
    guard.release().await.expect("its own");
    waited_ns / 1_000_000
}

/// Each waiting strategy against each way in which a lock becomes free. Messages and attempts
/// take up to 45 ms, in addition to sleep or the remaining lease.
#[test]
fn notification_of_a_release_depends_on_the_way_of_waiting() {
    const ON: &str = "Kgx";
    for (waiter, events, releases, expected_ms) in [
        ("wait = 'publish'", "", true, 2_000..2_045),
        ("wait = 'publish'", "", false, 20_000..20_045),
        // Off, as in an unconfigured Redis: it falls back on the lease.
        ("wait = 'keyspace'", "", true, 20_000..20_045),
        ("wait = 'keyspace'", ON, true, 2_000..2_045),
        ("wait = 'keyspace'", ON, false, 20_000..20_045),
        ("wait = 'spin'", "", true, 3_000..3_045),
        ("wait = 'spin'\nspin_ms = 100", "", true, 2_000..2_145),
    ] {
        on_nodes(1, 0, move |env, nodes| {
            let expected_ms = expected_ms.clone();
            async move {
                let command = ["CONFIG", "SET", "notify-keyspace-events", events];
                call(&env, &nodes[0], &command).await;
                let waited_ms = waits_ms(&env, &nodes, waiter, releases).await;
                assert!(
                    expected_ms.contains(&waited_ms),
                    "{waiter} {events} {releases}: {waited_ms} ms"
                );
            }
        });
    }
}

/// Redis keeps no message for a client that is not connected; the waiter subscribes again,
/// and waits until the lease ends.
#[test]
fn message_published_without_subscriber_is_lost() {
    on_nodes(1, 0, async |env, nodes| {
        let holder = redisson(&env, &nodes, "lease_ms = 20_000");
        // From now on the node has the scripts cached, and a release takes one one-way
        // latency.
        let grant = attempt(&holder).await.expect("the lock is free");
        holder.release(&grant).await.expect("its own");
        let grant = attempt(&holder).await.expect("the lock is free");
        env.spawn({
            let (env, n1) = (env.clone(), nodes[0].clone());
            async move {
                env.sleep(Duration::from_secs(2)).await;
                call(&env, &n1, &["CLIENT", "KILL", "TYPE", "pubsub"]).await;
                holder.release(&grant).await.expect("its own");
                env.sleep(Duration::from_secs(1)).await;
                let count = call(&env, &n1, &["PUBSUB", "NUMSUB", CHANNEL]).await;
                let one = Reply::Array(vec![Reply::Bulk(CHANNEL.into()), Reply::Integer(1)]);
                assert_eq!(count, one, "it has subscribed again");
            }
        });
        // It detects the loss, waits 4 ms, connects, and subscribes: four one-way latencies
        // of 1 to 5 ms. The release is sent one latency after the loss and arrives another
        // one later.
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let guard = locker(&env, &nodes, "").acquire(Owner::ONLY).await;
        let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
        assert!((19_900..20_045).contains(&waited_ms), "{waited_ms} ms");
        guard.release().await.expect("its own");
    });
}

/// Owners of one process share a subscription, and a message wakes one of them.
#[test]
fn a_message_wakes_one_owner_of_a_process() {
    on_nodes(1, 0, async |env, nodes| {
        let n1 = &nodes[0];
        call(&env, n1, &["HSET", "lock", "uuid:1", "1"]).await;
        let lock = redisson(&env, &nodes, "");
        let woken = Rc::new(Cell::new(0));
        for owner in [Owner(1), Owner(2)] {
            let (lock, woken) = (lock.clone(), woken.clone());
            env.spawn(async move {
                let request = Request {
                    owner,
                    wait: None,
                    mode: Mode::Exclusive,
                };
                let failed = LockError::taken("somebody holds it");
                // One to subscribe, and one to wait.
                lock.wait(request, &failed).await;
                lock.wait(request, &failed).await;
                woken.set(woken.get() + 1);
            });
        }
        for (messages, expected) in [("another", 0), ("0", 1), ("0", 2)] {
            env.sleep(Duration::from_secs(1)).await;
            let heard = integer(&env, n1, &["PUBLISH", CHANNEL, messages]).await;
            assert_eq!(heard, 1, "one subscription for both");
            env.sleep(Duration::from_secs(1)).await;
            assert_eq!(woken.get(), expected, "after {messages}");
        }
    });
}
