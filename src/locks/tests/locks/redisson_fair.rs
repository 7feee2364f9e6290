//! `redisson-fair`: its queue, its times and its messages on a simulated node and on a real
//! server; which waiter gets which wait time, in virtual time.

use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_env::redis::Reply;
use locklab_history::{ClockKind, Name};
use locklab_locks::{DynLock, Grant, LockError, Locker, Mode, Owner, Request};

use crate::redisson::{integer, listen};
use crate::stage::{attempt_in, attempt_of, call, lock, on_both, on_nodes, words};

const QUEUE: &str = "redisson_lock_queue:{lock}";
const TIMES: &str = "redisson_lock_timeout:{lock}";

fn fair<E: Env>(env: &E, nodes: &[Name], more: &str) -> Rc<dyn DynLock> {
    lock(env, nodes, &format!("name = \"redisson-fair\"\n{more}"))
}

fn wall_ms(env: &impl Env) -> i64 {
    (env.now_ns(ClockKind::Wall) / 1_000_000) as i64
}

/// The wait time that a waiter was given, in milliseconds; `None`: until a message.
fn told_ms(attempt: Result<Grant, LockError>) -> Option<u64> {
    match attempt {
        Err(LockError::NotAcquired { free_in, .. }) => free_in.map(|left| left.as_millis() as u64),
        other => panic!("{other:?}"),
    }
}

/// How long a waiter may still wait, in milliseconds from now.
async fn may_wait_ms<E: Env>(env: &E, node: &Name, waiter: &str) -> i64 {
    let score = words(env, node, &["ZSCORE", TIMES, waiter]).await;
    score[0].parse::<i64>().expect("whole milliseconds") - wall_ms(env)
}

/// Those behind a waiter that gives up are one place nearer, and those before it are not.
#[test]
fn a_waiter_that_gives_up_moves_only_those_behind_it() {
    on_nodes(1, 0, async |env, nodes| {
        let lock = fair(&env, &nodes, "lease_ms = 20_000\nfair_wait_ms = 60_000");
        let held = attempt_of(&lock, Owner(1)).await.expect("the lock is free");
        let uuid = held.token.strip_suffix(":1").expect("uuid:thread-id");
        let until_ms = async |owner: u32| {
            let waiter = format!("{uuid}:{owner}");
            words(&env, &nodes[0], &["ZSCORE", TIMES, &waiter]).await[0]
                .parse::<i64>()
                .expect("whole milliseconds")
        };
        for owner in [2, 3, 4] {
            told_ms(attempt_of(&lock, Owner(owner)).await);
        }
        let before = [until_ms(2).await, until_ms(4).await];
        let gives_up = Request {
            owner: Owner(3),
            wait: Some(Duration::ZERO),
            mode: Mode::Exclusive,
        };
        lock.give_up(gives_up).await;
        let after = [until_ms(2).await, until_ms(4).await];
        assert_eq!(after, [before[0], before[1] - 60_000]);
    });
}

async fn queues_and_wakes(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let more = "lease_ms = 20_000\nfair_wait_ms = 60_000";
    let one = fair(&env, &nodes, more);
    let other = fair(&env, &nodes, more);

    // A free lock is acquired: the hash of `redisson` is created, and nothing else.
    let held = attempt_of(&one, Owner(1)).await.expect("the lock is free");
    assert_eq!(
        words(&env, n1, &["HGETALL", "lock"]).await,
        [&*held.token, "1"]
    );
    let left_ms = integer(&env, n1, &["PTTL", "lock"]).await;
    assert!((15_000..=20_000).contains(&left_ms), "{left_ms} ms");
    assert_eq!(integer(&env, n1, &["DBSIZE"]).await, 1);

    // The first waiter gets the lease as its wait time; its place is kept 60 s longer than
    // that.
    let uuid = held.token.strip_suffix(":1").expect("uuid:thread-id");
    let (second, third) = (format!("{uuid}:2"), format!("{uuid}:3"));
    let told = told_ms(attempt_of(&one, Owner(2)).await).expect("a time");
    assert!((15_000..=20_000).contains(&told), "{told} ms");
    let first_ms = may_wait_ms(&env, n1, &second).await;
    assert!((75_000..=80_000).contains(&first_ms), "{first_ms} ms");
    // The next waiter waits until the first one's place expires, and is kept 60 s longer
    // again.
    let told = told_ms(attempt_of(&one, Owner(3)).await).expect("a time");
    assert!((75_000..=80_000).contains(&told), "{told} ms");
    let second_ms = may_wait_ms(&env, n1, &third).await;
    assert!((135_000..=140_000).contains(&second_ms), "{second_ms} ms");
    let queue = words(&env, n1, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert_eq!(queue, [&*second, &third]);
    // A repeated request changes nothing.
    let told = told_ms(attempt_of(&one, Owner(2)).await).expect("a time");
    assert!((15_000..=20_000).contains(&told), "{told} ms");
    assert_eq!(integer(&env, n1, &["LLEN", QUEUE]).await, 2);
    // A client that does not wait does not join the queue.
    let once = attempt_in(&other, Owner(9), Some(Duration::ZERO), Mode::Exclusive).await;
    assert_eq!(told_ms(once), Some(1));
    assert_eq!(integer(&env, n1, &["LLEN", QUEUE]).await, 2);

    // The owner reenters the lock and releases one hold.
    let again = attempt_of(&one, Owner(1)).await.expect("its own lock");
    assert_eq!(words(&env, n1, &["HGET", "lock", &held.token]).await, ["2"]);
    assert_eq!(one.release(&again).await.expect("its own"), 0);
    // A release by another client has no effect.
    let mut not_its = held.clone();
    not_its.token = "somebody:1".into();
    let foreign = other.release(&not_its).await;
    assert!(matches!(foreign, Err(LockError::Lost(_))), "{foreign:?}");

    // The last release wakes the head of the queue, on its own channel.
    let channel = |waiter: &str| format!("redisson_lock__channel:{{lock}}:{waiter}");
    let to_head = listen(&env, n1, &channel(&second)).await;
    assert_eq!(one.release(&held).await.expect("its own"), 1);
    assert_eq!(to_head.next().await, "0");
    assert_eq!(integer(&env, n1, &["EXISTS", "lock"]).await, 0);

    // The lock is free, and only the head gets it; then all others move up one place.
    attempt_of(&one, Owner(3)).await.expect_err("not its turn");
    attempt_of(&other, Owner(1))
        .await
        .expect_err("not its turn");
    let stranger = words(&env, n1, &["LINDEX", QUEUE, "-1"]).await;
    let held = attempt_of(&one, Owner(2)).await.expect("its turn");
    let queue = words(&env, n1, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert_eq!(queue, [&*third, &stranger[0]]);
    assert_eq!(integer(&env, n1, &["ZCARD", TIMES]).await, 2);
    let nearer_ms = may_wait_ms(&env, n1, &third).await;
    assert!((70_000..=80_000).contains(&nearer_ms), "{nearer_ms} ms");

    // A waiter that gives up leaves the queue, and those behind it move up.
    let before_ms = may_wait_ms(&env, n1, &stranger[0]).await;
    let request = locklab_locks::Request {
        owner: Owner(3),
        wait: Some(Duration::ZERO),
        mode: Mode::Exclusive,
    };
    one.give_up(request).await;
    let queue = words(&env, n1, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert_eq!(queue, stranger);
    assert_eq!(integer(&env, n1, &["ZCARD", TIMES]).await, 1);
    let by_ms = before_ms - may_wait_ms(&env, n1, &stranger[0]).await;
    assert!((60_000..65_000).contains(&by_ms), "{by_ms} ms");

    // The lease had expired: no error, and the head is notified nevertheless.
    let to_head = listen(&env, n1, &channel(&stranger[0])).await;
    call(&env, n1, &["DEL", "lock"]).await;
    assert_eq!(one.release(&held).await.expect("no error"), 0);
    assert_eq!(to_head.next().await, "0");
    let held = attempt_of(&other, Owner(1)).await.expect("its turn");
    assert_eq!(other.release(&held).await.expect("its own"), 1);
    assert_eq!(integer(&env, n1, &["DBSIZE"]).await, 0);
}

#[test]
fn queue_times_and_messages_are_redissons() {
    on_both!(1, queues_and_wakes);
}

/// An attempt or a release drops the heads that have expired by the caller's clock.
async fn drops_stale_heads(env: impl Env, nodes: Vec<Name>) {
    let n1 = &nodes[0];
    let lock = fair(&env, &nodes, "lease_ms = 20_000");
    let enqueue = async |waiter: &str, in_ms: i64| {
        let until = (wall_ms(&env) + in_ms).to_string();
        call(&env, n1, &["RPUSH", QUEUE, waiter]).await;
        call(&env, n1, &["ZADD", TIMES, &until, waiter]).await;
    };
    enqueue("dead:1", -1).await;
    enqueue("dead:2", -1).await;
    let held = attempt_of(&lock, Owner(1))
        .await
        .expect("they waited too long");
    assert_eq!(integer(&env, n1, &["EXISTS", QUEUE, TIMES]).await, 0);

    enqueue("dead:1", -1).await;
    enqueue("alive:1", 60_000).await;
    let messages = listen(&env, n1, "redisson_lock__channel:{lock}:alive:1").await;
    assert_eq!(lock.release(&held).await.expect("its own"), 1);
    assert_eq!(messages.next().await, "0");
    let queue = words(&env, n1, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert_eq!(queue, ["alive:1"]);
    // A head without a timeout is kept.
    call(&env, n1, &["ZREM", TIMES, "alive:1"]).await;
    let once = attempt_in(&lock, Owner(1), Some(Duration::ZERO), Mode::Exclusive).await;
    assert_eq!(told_ms(once), Some(1));
    let queue = words(&env, n1, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert_eq!(queue, ["alive:1"]);
}

#[test]
fn heads_that_have_waited_too_long_are_dropped() {
    on_both!(1, drops_stale_heads);
}

/// If the lease that it found has expired, a waiter of 3.23.5 gets a time in the past, and so
/// waits for a message; a waiter of a newer release gets the remaining time.
#[test]
fn waiter_on_a_renewed_lease_waits_as_its_version_does() {
    for (told, expected) in [("place", None), ("lease", Some(10_000))] {
        on_nodes(1, 0, move |env, nodes| async move {
            let holder = fair(&env, &nodes, "lease_ms = 10_000");
            let _held = attempt_of(&holder, Owner(1)).await.expect("free");
            let waiter = fair(&env, &nodes, &format!("told = {told:?}"));
            told_ms(attempt_of(&waiter, Owner(1)).await).expect("a time");
            env.sleep(Duration::from_millis(9_500)).await;
            call(&env, &nodes[0], &["PEXPIRE", "lock", "10000"]).await;
            env.sleep(Duration::from_millis(600)).await;
            let told = told_ms(attempt_of(&waiter, Owner(1)).await);
            match (told, expected) {
                (None, None) => {}
                (Some(told), Some(most)) => assert!((9_000..most).contains(&told), "{told} ms"),
                other => panic!("{other:?}"),
            }
        });
    }
}

/// Also if the waiter before it gives up or dies.
#[test]
fn waiters_are_served_in_order_and_giving_up_leaves_nothing_behind() {
    on_nodes(1, 0, async |env, nodes| {
        let locker = || Locker::new(env.clone(), fair(&env, &nodes, ""), NoopObserver);
        let holder = locker().acquire(Owner::ONLY).await;
        let impatient = locker();
        let tried = impatient.try_acquire(Owner::ONLY, Duration::from_secs(3));
        assert!(tried.await.is_err());
        let keys = [QUEUE, TIMES];
        assert_eq!(
            integer(&env, &nodes[0], &["EXISTS", keys[0], keys[1]]).await,
            0
        );
        env.spawn({
            let env = env.clone();
            async move {
                env.sleep(Duration::from_secs(2)).await;
                holder.release().await.expect("its own");
            }
        });
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let guard = locker().acquire(Owner::ONLY).await;
        let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
        assert!((2_000..2_045).contains(&waited_ms), "{waited_ms} ms");
        guard.release().await.expect("its own");
        assert_eq!(call(&env, &nodes[0], &["DBSIZE"]).await, Reply::Integer(0));
    });
}
