//! `redisson-multi` and `redisson-redlock`: their effects on the keys of simulated nodes and
//! of real servers, and the effect of their last step on another client's lock.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::observe::NoopObserver;
use locklab_env::{Env, Points};
use locklab_history::{ClockKind, Failpoint, Name};
use locklab_locks::{DynLock, Grant, LockError, Locker, Mode, Owner};
use locklab_real::real_env::RealEnv;
use locklab_runner::simulated_env::SimulatedEnv;

use crate::redisson::integer;
use crate::stage::{attempt_in, call, lock, on_both, on_nodes, on_redis, words};

fn many<E: Env>(env: &E, nodes: &[Name], name: &str) -> Rc<dyn DynLock> {
    let parameters = "lease_ms = 20_000\nreply_timeout_ms = 1000\nresend = 0";
    lock(env, nodes, &format!("name = \"{name}\"\n{parameters}"))
}

/// One attempt with this maximum wait, in milliseconds.
async fn try_lock(lock: &Rc<dyn DynLock>, wait_ms: u64) -> Result<Grant, LockError> {
    let wait = Some(Duration::from_millis(wait_ms));
    attempt_in(lock, Owner::ONLY, wait, Mode::Exclusive).await
}

/// Puts another client's lock on these nodes.
pub async fn occupy<E: Env>(env: &E, nodes: &[Name]) {
    for node in nodes {
        call(env, node, &["HSET", "lock", "somebody:1", "1"]).await;
        call(env, node, &["PEXPIRE", "lock", "60000"]).await;
    }
}

/// On how many of these nodes the caller holds a lock with a lease in this range, in
/// milliseconds.
async fn held<E: Env>(env: &E, nodes: &[Name], lease_ms: (i64, i64)) -> usize {
    let mut count = 0;
    for node in nodes {
        let fields = words(env, node, &["HKEYS", "lock"]).await;
        let left_ms = integer(env, node, &["PTTL", "lock"]).await;
        let is_own = fields.len() == 1 && fields[0] != "somebody:1";
        count += usize::from(is_own && lease_ms.0 < left_ms && left_ms <= lease_ms.1);
    }
    count
}

async fn all_or_none(env: impl Env, nodes: Vec<Name>) {
    let multi = many(&env, &nodes, "redisson-multi");
    let grant = try_lock(&multi, 2_000).await.expect("free");
    assert_eq!(held(&env, &nodes, (15_000, 20_000)).await, 3);
    assert!(multi.is_held(&grant).await.expect("all answer"));
    assert_eq!(multi.release(&grant).await.expect("its own"), 3);
    assert_eq!(held(&env, &nodes, (0, 20_000)).await, 0);

    // One lock belongs to another client: those that were acquired are released.
    occupy(&env, &nodes[2..]).await;
    assert!(try_lock(&multi, 300).await.is_err());
    assert_eq!(held(&env, &nodes, (0, 20_000)).await, 0);
    call(&env, &nodes[2], &["DEL", "lock"]).await;

    // The first lock that was lost prevents the release of the others.
    let grant = try_lock(&multi, 2_000).await.expect("free");
    call(&env, &nodes[0], &["DEL", "lock"]).await;
    let released = multi.release(&grant).await;
    assert!(matches!(released, Err(LockError::Lost(_))), "{released:?}");
    assert_eq!(held(&env, &nodes, (0, 20_000)).await, 2);
}

#[test]
fn a_multi_lock_is_all_or_none() {
    on_both!(3, all_or_none);
}

/// A node that refuses connections fails quickly.
#[test]
fn a_multi_lock_needs_the_node_that_is_down() {
    on_nodes(3, 1, async |env, nodes| {
        let multi = many(&env, &nodes, "redisson-multi");
        assert!(try_lock(&multi, 300).await.is_err());
        assert_eq!(held(&env, &nodes[..2], (0, 20_000)).await, 0);
    });
}

async fn a_majority(env: impl Env, nodes: Vec<Name>) {
    let redlock = many(&env, &nodes, "redisson-redlock");
    occupy(&env, &nodes[..2]).await;
    let grant = try_lock(&redlock, 2_000).await.expect("three of five");
    assert_eq!(held(&env, &nodes, (15_000, 20_000)).await, 3);
    assert_eq!(redlock.release(&grant).await.expect("its own"), 3);

    // A third lock is taken: none is kept.
    occupy(&env, &nodes[2..3]).await;
    assert!(try_lock(&redlock, 300).await.is_err());
    assert_eq!(held(&env, &nodes, (0, 20_000)).await, 0);

    // If a lock was lost, the others are released nevertheless.
    call(&env, &nodes[2], &["DEL", "lock"]).await;
    let grant = try_lock(&redlock, 2_000).await.expect("three of five");
    call(&env, &nodes[2], &["DEL", "lock"]).await;
    assert_eq!(redlock.release(&grant).await.expect("no error"), 2);
}

#[test]
fn a_redlock_needs_a_majority() {
    on_both!(5, a_majority);
}

/// During acquisition the lease is twice the maximum wait; the last step sets the user's
/// lease. If the client stalls before its last step, the leases end and another client
/// acquires the lock; the last step then extends the other's lease.
async fn prolongs(env: impl Env, watched: impl Fn(Points) -> Rc<dyn DynLock>, nodes: Vec<Name>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let points: Points = {
        let (env, nodes, seen) = (env.clone(), nodes.clone(), seen.clone());
        Rc::new(move |point| {
            let (env, nodes, seen) = (env.clone(), nodes.clone(), seen.clone());
            Box::pin(async move {
                if point == Failpoint::Prolonging {
                    let own = held(&env, &nodes, (3_000, 4_000)).await;
                    seen.borrow_mut().push(own);
                    for node in &nodes {
                        call(&env, node, &["DEL", "lock"]).await;
                        call(&env, node, &["HSET", "lock", "somebody:1", "1"]).await;
                        call(&env, node, &["PEXPIRE", "lock", "500"]).await;
                    }
                }
            })
        })
    };
    let before_ns = env.now_ns(ClockKind::Monotonic);
    let grant = try_lock(&watched(points), 2_000)
        .await
        .expect("it believes so");
    assert_eq!(*seen.borrow(), [nodes.len()]);
    let deadline = grant.deadline.expect("its own lease");
    assert!(deadline.at_ns - before_ns >= 20_000_000_000);
    for node in &nodes {
        let fields = words(&env, node, &["HKEYS", "lock"]).await;
        assert_eq!(fields, ["somebody:1"]);
        let left_ms = integer(&env, node, &["PTTL", "lock"]).await;
        assert!((15_000..=20_000).contains(&left_ms), "{left_ms} ms");
    }
}

#[test]
fn last_step_extends_the_lock_of_any_owner() {
    for name in ["redisson-multi", "redisson-redlock"] {
        on_nodes(3, 0, move |env: SimulatedEnv, nodes| {
            let (watched, names) = (env.clone(), nodes.clone());
            let lock = move |points| many(&watched.clone().watched(points), &names, name);
            prolongs(env, lock, nodes)
        });
        on_redis(3, async |env: RealEnv, nodes| {
            let (watched, names) = (env.clone(), nodes.clone());
            let lock = move |points| many(&watched.clone().watched(points), &names, name);
            prolongs(env, lock, nodes).await;
        });
    }
}

/// Each node may take a fifth of the maximum wait.
#[test]
fn patience_is_shared_among_the_nodes_of_a_redlock_and_not_of_a_multi_lock() {
    for (name, expected_ms) in [
        ("redisson-redlock", 2_000..2_100),
        ("redisson-multi", 5_000..5_100),
    ] {
        on_nodes(5, 0, move |env, nodes| {
            let expected_ms = expected_ms.clone();
            async move {
                occupy(&env, &nodes[..1]).await;
                let lock = many(&env, &nodes, name);
                lock.connect().await;
                let before_ns = env.now_ns(ClockKind::Monotonic);
                env.spawn({
                    let (env, n1) = (env.clone(), nodes[0].clone());
                    async move {
                        env.sleep(Duration::from_secs(5)).await;
                        call(&env, &n1, &["DEL", "lock"]).await;
                        call(
                            &env,
                            &n1,
                            &["PUBLISH", "redisson_lock__channel:{lock}", "0"],
                        )
                        .await;
                    }
                });
                try_lock(&lock, 10_000).await.expect("enough are free");
                let waited_ms = (env.now_ns(ClockKind::Monotonic) - before_ns) / 1_000_000;
                assert!(expected_ms.contains(&waited_ms), "{name}: {waited_ms} ms");
            }
        });
    }
}

/// As each of its locks does: a key that is deleted without a message wakes nobody.
#[test]
fn a_multi_lock_listens_and_does_not_ask_meanwhile() {
    on_nodes(3, 0, async |env, nodes| {
        occupy(&env, &nodes[..1]).await;
        let multi = many(&env, &nodes, "redisson-multi");
        env.spawn({
            let (env, n1) = (env.clone(), nodes[0].clone());
            async move {
                env.sleep(Duration::from_secs(1)).await;
                call(&env, &n1, &["DEL", "lock"]).await;
            }
        });
        assert!(try_lock(&multi, 2_000).await.is_err());
        assert!(try_lock(&multi, 2_000).await.is_ok());
    });
}

/// A node that does not reply uses up the whole maximum wait, regardless of its share.
#[test]
fn a_node_that_is_silent_keeps_a_redlock_from_everybody() {
    on_nodes(5, 1, async |env, nodes| {
        let redlock = lock(&env, &nodes, "name = \"redisson-redlock\"\nlease_ms = 1000");
        let locker = Locker::new(env.clone(), redlock, NoopObserver);
        let tried = locker
            .try_acquire(Owner::ONLY, Duration::from_secs(4))
            .await;
        assert!(tried.is_err());
        let parameters = "name = \"redisson-redlock\"\nlease_ms = 1000\nresend = 0";
        let locker = Locker::new(env.clone(), lock(&env, &nodes, parameters), NoopObserver);
        let tried = locker
            .try_acquire(Owner::ONLY, Duration::from_secs(4))
            .await;
        assert!(tried.is_ok());
    });
}
