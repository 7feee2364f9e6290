//! `set-nx-px`.

use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::{ClockKind, Name};
use locklab_locks::set_nx_px::Release;
use locklab_locks::{DynLock, LockError, Owner};
use locklab_redis::Imitated;

use crate::stage::{attempt, attempt_of, call, lock, on_both, on_nodes, on_nodes_like};

fn set_nx_px(env: &impl Env, names: &[Name], more: &str) -> Rc<dyn DynLock> {
    let parameters = format!("name = \"set-nx-px\"\nttl_ms = 1000\n{more}");
    lock(env, names, &parameters)
}

#[test]
fn lock_is_exclusive_and_available_after_its_release() {
    on_nodes(1, 0, async |env, names| {
        let one = set_nx_px(&env, &names, "");
        let other = set_nx_px(&env, &names, "");
        let grant = attempt(&one).await.expect("the lock is free");
        assert!(matches!(
            attempt(&other).await,
            Err(LockError::NotAcquired { .. })
        ));
        assert_eq!(one.release(&grant).await.expect("the node answers"), 1);
        assert!(matches!(one.release(&grant).await, Err(LockError::Lost(_))));
        attempt(&other).await.expect("the lock is free again");
    });
}

#[test]
fn lease_expires_by_itself_and_not_before_the_holders_deadline() {
    on_nodes(1, 0, async |env, names| {
        let one = set_nx_px(&env, &names, "");
        let other = set_nx_px(&env, &names, "");
        let before_ns = env.now_ns(ClockKind::Monotonic);
        let grant = attempt(&one).await.expect("the lock is free");
        let deadline = grant.deadline.expect("it has a lease");
        // The lease counts from before the request, however long the reply took.
        assert_eq!(deadline.at_ns, before_ns + 1_000_000_000);
        while attempt(&other).await.is_err() {
            env.sleep(Duration::from_millis(1)).await;
        }
        let over_ns = env.now_ns(deadline.clock) - deadline.at_ns;
        // The lease starts when the SET arrives, up to 5 ms after it was sent; the other
        // notices within one round trip of up to 10 ms, its sleep of 1 ms, and Redis's
        // millisecond.
        assert!(
            over_ns < 5_000_000 + 2 * 10_000_000 + 2_000_000,
            "{over_ns} ns late"
        );
    });
}

#[test]
fn each_mistake_grants_a_lock_in_one_situation() {
    on_nodes(1, 0, async |env, names| {
        let right = set_nx_px(&env, &names, "");
        right.connect().await;
        attempt(&right).await.expect("the lock is free");
        let mistaken = |mistake: &str| {
            let more = format!("timeout_ms = 50\nmistake = \"{mistake}\"");
            set_nx_px(&env, &names, &more)
        };
        // While another client holds it; while the server is silent; by a client that has just started.
        let expected = [
            ("none", [false, false, false]),
            ("fails-open", [false, true, false]),
            ("takes-refusals", [true, false, true]),
            ("deletes-at-start", [false, false, true]),
        ];
        for (mistake, [granted, ..]) in expected {
            let held = attempt(&mistaken(mistake)).await;
            assert_eq!(held.is_ok(), granted, "{mistake}");
        }
        call(&env, &names[0], &["CLIENT", "PAUSE", "1000"]).await;
        for (mistake, [_, granted, _]) in expected {
            let silent = attempt(&mistaken(mistake)).await;
            assert_eq!(silent.is_ok(), granted, "{mistake}");
        }
        env.sleep(Duration::from_millis(1000)).await;
        attempt(&right).await.expect("its lease is over");
        for (mistake, [.., granted]) in expected {
            let starts = mistaken(mistake);
            starts.connect().await;
            assert_eq!(attempt(&starts).await.is_ok(), granted, "{mistake}");
        }
    });
}

/// The keys that each release deletes after another client has acquired the lock.
#[test]
fn only_del_deletes_anothers_lock() {
    let any = Imitated::default();
    for (release, deletes, imitated) in [
        (Release::Del, 1, any),
        (Release::GetDel, 0, any),
        (Release::CompareDel, 0, any),
        (Release::WatchDel, 0, any),
        (Release::Delex, 0, Imitated::Redis8_4),
        (Release::Delifeq, 0, Imitated::Valkey9_0),
    ] {
        let name = serde_json::to_string(&release).expect("a name");
        on_nodes_like(imitated, 1, 0, move |env, names| {
            let name = name.clone();
            async move {
                let lock = set_nx_px(&env, &names, &format!("release = {name}"));
                let grant = attempt(&lock).await.expect("the lock is free");
                call(&env, &names[0], &["SET", "lock", "another's"]).await;
                let released = lock.release(&grant).await;
                match deletes {
                    0 => assert!(matches!(released, Err(LockError::Lost(_))), "{name}"),
                    _ => assert_eq!(released.expect("answers"), deletes, "{name}"),
                }
                let kept = call(&env, &names[0], &["EXISTS", "lock"]).await;
                assert_eq!(kept, Reply::Integer(1 - i64::from(deletes)), "{name}");
                // It does delete its own lock.
                call(&env, &names[0], &["DEL", "lock"]).await;
                let grant = attempt(&lock).await.expect("the lock is free");
                assert_eq!(lock.release(&grant).await.expect("answers"), 1, "{name}");
            }
        });
    }
}

/// The lock is not lost: its key is there until the lease is over.
#[test]
fn a_release_that_the_server_does_not_know_is_unsupported() {
    for (release, imitated) in [
        ("delex", Imitated::Redis7_0),
        ("delex", Imitated::Valkey9_0),
        ("delifeq", Imitated::Redis8_4),
    ] {
        on_nodes_like(imitated, 1, 0, move |env, names| async move {
            let lock = set_nx_px(&env, &names, &format!("release = \"{release}\""));
            let grant = attempt(&lock).await.expect("the lock is free");
            let released = lock.release(&grant).await;
            assert!(
                matches!(released, Err(LockError::Unsupported(why)) if why.contains("its server")),
                "{release} on {imitated}: {released:?}"
            );
            let kept = call(&env, &names[0], &["EXISTS", "lock"]).await;
            assert_eq!(kept, Reply::Integer(1));
        });
    }
}

#[test]
fn a_lease_is_prolonged_for_its_holder_alone() {
    on_nodes(1, 0, async |env, names| {
        let lock = set_nx_px(&env, &names, "");
        let first = attempt(&lock).await.expect("the lock is free");
        env.sleep(Duration::from_millis(900)).await;
        let second = lock.extend(&first).await.expect("it is still ours");
        let by_ns =
            second.deadline.expect("a lease").at_ns - first.deadline.expect("a lease").at_ns;
        assert!(by_ns >= 900_000_000, "prolonged by {by_ns} ns only");
        env.sleep(Duration::from_millis(900)).await;
        assert_eq!(
            call(&env, &names[0], &["EXISTS", "lock"]).await,
            Reply::Integer(1)
        );
        env.sleep(Duration::from_millis(200)).await;
        assert!(matches!(
            lock.extend(&second).await,
            Err(LockError::Lost(_))
        ));
        // It does not delete another client's lock.
        call(&env, &names[0], &["SET", "lock", "another's"]).await;
        assert!(matches!(
            lock.extend(&second).await,
            Err(LockError::Lost(_))
        ));
    });
}

/// If another client takes the lock over before, during or after the release, its lock stays:
/// the watched key must not change between the check and the deletion.
#[test]
fn a_transaction_that_watches_never_deletes_anothers_lock() {
    for after_ms in (0..60).step_by(3) {
        on_nodes(1, 0, move |env, names| async move {
            let lock = set_nx_px(&env, &names, "release = \"watch-del\"");
            let grant = attempt(&lock).await.expect("the lock is free");
            let take_over = async {
                env.sleep(Duration::from_millis(after_ms)).await;
                call(&env, &names[0], &["SET", "lock", "another's"]).await;
            };
            // The result of the release depends on the order.
            let _ = tokio::join!(lock.release(&grant), take_over);
            let kept = call(&env, &names[0], &["EXISTS", "lock"]).await;
            assert_eq!(kept, Reply::Integer(1), "after {after_ms} ms");
        });
    }
}

#[test]
fn fencing_tokens_rise_from_grant_to_grant() {
    on_nodes(1, 0, async |env, names| {
        let lock = set_nx_px(&env, &names, "fencing_token = true");
        let mut tokens = Vec::new();
        for _ in 0..3 {
            let grant = attempt(&lock).await.expect("the lock is free");
            assert!(attempt(&lock).await.is_err(), "held, so no token is drawn");
            tokens.push(grant.fencing_token.expect("a token"));
            lock.release(&grant).await.expect("the node answers");
        }
        assert_eq!(tokens, [1, 2, 3]);
    });
}

/// The hold count is kept in the process; the node only gets the first acquisition and the
/// last release.
async fn counts_beside_the_key(env: impl Env, nodes: Vec<Name>) {
    let (me, another) = (Owner(1), Owner(2));
    let lock = set_nx_px(&env, &nodes, "reentrant = \"local\"");
    let outer = attempt_of(&lock, me).await.expect("the lock is free");
    env.sleep(Duration::from_millis(20)).await;
    let inner = attempt_of(&lock, me).await.expect("it is ours");
    assert_eq!(inner.token, outer.token);
    assert!(attempt_of(&lock, another).await.is_err());
    let exists = async || call(&env, &nodes[0], &["EXISTS", "lock"]).await;
    assert_eq!(lock.release(&inner).await.expect("it is ours"), 0);
    assert_eq!(exists().await, Reply::Integer(1));
    assert_eq!(lock.release(&outer).await.expect("it is ours"), 1);
    assert_eq!(exists().await, Reply::Integer(0));
    // The count outlives the lease, and the inner caller gets a full lease.
    let outer = attempt_of(&lock, me).await.expect("the lock is free");
    call(&env, &nodes[0], &["SET", "lock", "another's"]).await;
    env.sleep(Duration::from_millis(20)).await;
    let inner = attempt_of(&lock, me).await.expect("says the count");
    let later = (inner.deadline.expect("a lease").at_ns) - outer.deadline.expect("a lease").at_ns;
    assert!(later >= 20_000_000, "{later} ns");
    assert!(!lock.is_held(&inner).await.expect("the node answers"));
    assert_eq!(lock.release(&inner).await.expect("says the count"), 0);
    let lost = lock.release(&outer).await;
    assert!(matches!(lost, Err(LockError::Lost(_))));
}

#[test]
fn a_local_count_makes_it_reentrant_and_outlives_the_lease() {
    on_both!(1, counts_beside_the_key);
}

#[test]
fn owner_of_a_lock_that_is_not_reentrant_waits_for_itself() {
    on_nodes(1, 0, async |env, names| {
        let lock = set_nx_px(&env, &names, "");
        attempt(&lock).await.expect("the lock is free");
        assert!(attempt(&lock).await.is_err());
    });
}

/// R6: the value of the key.
#[test]
fn each_kind_of_token_is_as_unique_as_its_source() {
    for (token, unique) in [("random", true), ("thread-id", false), ("seconds", false)] {
        on_nodes(1, 0, move |env, names| async move {
            let lock = set_nx_px(&env, &names, &format!("token = \"{token}\""));
            let first = attempt(&lock).await.expect("the lock is free");
            lock.release(&first).await.expect("it is ours");
            let second = attempt(&lock).await.expect("the lock is free");
            assert_eq!(first.token != second.token, unique, "{token}");
        });
    }
}

/// A reply takes 2 to 10 ms. If it is too late, the second SET is refused because of the lock of
/// the first, which no client knows about; that costs a lease.
#[test]
fn a_set_that_is_resent_finds_its_own_lock() {
    on_nodes(1, 0, async |env, names| {
        let hasty = set_nx_px(&env, &names, "timeout_ms = 8\nresend = 5");
        let other = set_nx_px(&env, &names, "");
        for _ in 0..100 {
            hasty.connect().await;
            if let Err(LockError::NotAcquired { .. }) = attempt(&hasty).await {
                assert!(attempt(&other).await.is_err());
                env.sleep(Duration::from_secs(1)).await;
                attempt(&other).await.expect("the lease is over");
                return;
            }
            call(&env, &names[0], &["DEL", "lock"]).await;
        }
        panic!("no reply came late");
    });
}
