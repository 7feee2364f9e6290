//! `redisson-read-write`: its hash, the keys of its holds and its messages on a simulated node and
//! on a real server; and the waits of clients for one another, in virtual time.

use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_history::{ClockKind, Name};
use locklab_locks::Mode::{Exclusive, Shared};
use locklab_locks::{DynLock, Grant, LockError, Locker, Mode, Owner};

use crate::redisson::{integer, listen};
use crate::stage::{attempt_in, call, lock, on_both, on_nodes, words};

const CHANNEL: &str = "redisson_rwlock:{lock}";

fn read_write<E: Env>(env: &E, nodes: &[Name], more: &str) -> Rc<dyn DynLock> {
    lock(
        env,
        nodes,
        &format!("name = \"redisson-read-write\"\n{more}"),
    )
}

async fn take(lock: &Rc<dyn DynLock>, mode: Mode) -> Result<Grant, LockError> {
    attempt_in(lock, Owner(1), None, mode).await
}

/// The fields of the lock's hash, in alphabetical order, and their values.
async fn fields<E: Env>(env: &E, node: &Name) -> Vec<(String, String)> {
    let words = words(env, node, &["HGETALL", "lock"]).await;
    let mut fields: Vec<_> = words
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    fields.sort();
    fields
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut fields: Vec<_> = expected
        .iter()
        .map(|(field, value)| (field.to_string(), value.to_string()))
        .collect();
    fields.sort();
    fields
}

async fn left_ms<E: Env>(env: &E, node: &Name, key: &str) -> i64 {
    integer(env, node, &["PTTL", key]).await
}

fn hold(holder: &str, number: u32) -> String {
    format!("{{lock}}:{holder}:rwlock_timeout:{number}")
}

async fn readers_share(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let short = read_write(&env, &nodes, "lease_ms = 20_000");
    let long = read_write(&env, &nodes, "lease_ms = 60_000");

    // The first reader creates the mode, a field, and a key for its hold.
    let one = take(&short, Shared).await.expect("free");
    assert_eq!(
        fields(&env, n1).await,
        pairs(&[("mode", "read"), (&one.token, "1")])
    );
    for key in ["lock", &hold(&one.token, 1)] {
        let left_ms = left_ms(&env, n1, key).await;
        assert!((15_000..=20_000).contains(&left_ms), "{key}: {left_ms} ms");
    }
    // The second reader extends the lock's lease, but not the other's hold.
    let two = take(&long, Shared).await.expect("readers share");
    assert!(left_ms(&env, n1, "lock").await > 55_000);
    assert!(left_ms(&env, n1, &hold(&two.token, 1)).await > 55_000);
    assert!(left_ms(&env, n1, &hold(&one.token, 1)).await <= 20_000);
    // The first reader again: a shorter lease does not shorten the lock's.
    let again = take(&short, Shared).await.expect("its own");
    let expected = [("mode", "read"), (&one.token, "2"), (&two.token, "1")];
    assert_eq!(fields(&env, n1).await, pairs(&expected));
    assert!(left_ms(&env, n1, &hold(&one.token, 2)).await > 15_000);
    assert!(left_ms(&env, n1, "lock").await > 55_000);

    // No writer acquires it, not even one that is a reader.
    take(&short, Exclusive).await.expect_err("others read");

    // A released hold leaves no key behind; the lock lasts as long as the longest remaining
    // hold.
    let messages = listen(&env, n1, CHANNEL).await;
    assert_eq!(long.release(&two).await.expect("its own"), 0);
    assert_eq!(
        integer(&env, n1, &["EXISTS", &hold(&two.token, 1)]).await,
        0
    );
    let lease_ms = left_ms(&env, n1, "lock").await;
    assert!((10_000..=20_000).contains(&lease_ms), "{lease_ms} ms");
    assert!(matches!(long.release(&two).await, Err(LockError::Lost(_))));
    assert_eq!(short.release(&again).await.expect("its own"), 0);
    assert_eq!(short.release(&one).await.expect("its own"), 1);
    assert_eq!(messages.next().await, "0");
    assert_eq!(integer(&env, n1, &["DBSIZE"]).await, 0);
    // The lease had expired: no error.
    assert_eq!(short.release(&one).await.expect("no error"), 0);
    assert_eq!(messages.next().await, "0");
}

#[test]
fn readers_share_the_lock_with_one_key_per_hold() {
    on_both!(1, readers_share);
}

async fn writer_alone(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let one = read_write(&env, &nodes, "lease_ms = 20_000");
    let other = read_write(&env, &nodes, "lease_ms = 20_000");
    let messages = listen(&env, n1, CHANNEL).await;

    let outer = take(&one, Exclusive).await.expect("free");
    assert!(outer.token.ends_with(":1:write"), "{}", outer.token);
    assert_eq!(
        fields(&env, n1).await,
        pairs(&[("mode", "write"), (&outer.token, "1")])
    );
    for mode in [Shared, Exclusive] {
        take(&other, mode).await.expect_err("somebody writes");
    }
    // Its lease is added to the remaining one.
    let inner = take(&one, Exclusive).await.expect("its own");
    let lease_ms = left_ms(&env, n1, "lock").await;
    assert!((35_000..=40_000).contains(&lease_ms), "{lease_ms} ms");
    assert_eq!(one.release(&inner).await.expect("its own"), 0);
    assert!(left_ms(&env, n1, "lock").await <= 20_000);
    assert_eq!(one.release(&outer).await.expect("its own"), 1);
    assert_eq!(messages.next().await, "1");
    assert_eq!(integer(&env, n1, &["DBSIZE"]).await, 0);

    // The writer also becomes a reader, and continues as a reader.
    let writing = take(&one, Exclusive).await.expect("free");
    let reading = take(&one, Shared).await.expect("its own");
    let expected = [
        ("mode", "write"),
        (&*reading.token, "1"),
        (&writing.token, "1"),
    ];
    assert_eq!(fields(&env, n1).await, pairs(&expected));
    take(&other, Shared).await.expect_err("somebody writes");
    assert_eq!(one.release(&writing).await.expect("its own"), 0);
    assert_eq!(
        fields(&env, n1).await,
        pairs(&[("mode", "read"), (&reading.token, "1")])
    );
    let beside = take(&other, Shared).await.expect("readers share");
    assert_eq!(one.release(&reading).await.expect("its own"), 0);
    assert_eq!(other.release(&beside).await.expect("its own"), 1);
    // The message of the last reader; the writer that became a reader sent none.
    assert_eq!(messages.next().await, "0");
    // A former writer.
    take(&other, Exclusive).await.expect("free");
    assert!(matches!(
        one.release(&writing).await,
        Err(LockError::Lost(_))
    ));
}

#[test]
fn writer_is_exclusive_and_may_continue_as_a_reader() {
    on_both!(1, writer_alone);
}

/// The renewal of one reader renews every reader's holds.
async fn renews_all(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let one = read_write(&env, &nodes, "lease_ms = 60_000");
    let other = read_write(&env, &nodes, "lease_ms = 20_000");
    let mine = take(&one, Shared).await.expect("free");
    let others = take(&other, Shared).await.expect("readers share");
    one.extend(&mine).await.expect("its own");
    for key in ["lock", &hold(&mine.token, 1), &hold(&others.token, 1)] {
        assert!(left_ms(&env, n1, key).await > 55_000, "{key}");
    }
    one.release(&mine).await.expect("its own");
    assert!(matches!(one.extend(&mine).await, Err(LockError::Lost(_))));
    assert!(other.is_held(&others).await.expect("it answers"));
    assert!(!one.is_held(&mine).await.expect("it answers"));
}

#[test]
fn a_reader_renews_for_all_readers() {
    on_both!(1, renews_all);
}

/// How long a waiter waits, in milliseconds, if `holder` acts after a second.
#[track_caller]
fn check_wait(
    waits: Mode,
    expected_ms: std::ops::Range<u64>,
    ends: &'static [Mode],
    holds: &'static [Mode],
) {
    on_nodes(1, 0, move |env, nodes| {
        let expected_ms = expected_ms.clone();
        async move {
            let holder = read_write(&env, &nodes, "lease_ms = 10_000");
            let mut grants = Vec::new();
            for mode in holds {
                grants.push((*mode, take(&holder, *mode).await.expect("its own")));
            }
            let before_ns = env.now_ns(ClockKind::Monotonic);
            env.spawn({
                let env = env.clone();
                async move {
                    env.sleep(Duration::from_secs(1)).await;
                    for (mode, grant) in grants {
                        if ends.contains(&mode) {
                            holder.release(&grant).await.expect("its own");
                        }
                    }
                }
            });
            let waiter = read_write(&env, &nodes, "");
            let locker = Locker::new(env.clone(), waiter, NoopObserver).in_mode(waits);
            let guard = locker.acquire(Owner(1)).await;
            let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
            assert!(expected_ms.contains(&waited_ms), "{waited_ms} ms");
            guard.release().await.expect("its own");
            call(&env, &nodes[0], &["PING"]).await;
        }
    });
}

#[test]
fn release_wakes_waiters() {
    check_wait(Shared, 1_000..1_045, &[Exclusive], &[Exclusive]);
    check_wait(Exclusive, 1_000..1_045, &[Exclusive], &[Exclusive]);
    check_wait(Exclusive, 1_000..1_045, &[Shared], &[Shared]);
}

/// A writer that continues as a reader sends no message: a waiting reader finds out when the
/// lease that it was given has ended.
#[test]
fn a_writer_that_becomes_a_reader_wakes_no_reader() {
    check_wait(Shared, 9_900..10_100, &[Exclusive], &[Exclusive, Shared]);
}
