//! Owners of one process: what one does with a lock concerns no other one.

use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::observe::NoopObserver;
use locklab_history::ClockKind;
use locklab_locks::{LockError, Locker, Mode, Owner};

use crate::parameters::forms;
use crate::stage::{attempt, attempt_in, attempt_of, lock, on_nodes, on_servers};

/// Two readers of one process, one of which gives its hold back: the watchdog goes on for the other.
#[test]
fn watchdog_renews_for_the_owner_that_remains() {
    for [gone, stays] in [[1, 2], [2, 1]] {
        on_nodes(1, 0, move |env, names| async move {
            let text = "name = \"redisson-read-write\"\nwatchdog_ms = 300";
            let reads = lock(&env, &names, text);
            let mut grants = Vec::new();
            for owner in [1, 2] {
                let granted = attempt_in(&reads, Owner(owner), None, Mode::Shared).await;
                grants.push(granted.expect("readers share"));
            }
            let of = |owner: u32| &grants[owner as usize - 1];
            reads.release(of(gone)).await.expect("it holds the lock");
            env.sleep(Duration::from_millis(2_000)).await;
            let held = reads.is_held(of(stays)).await.expect("the node answers");
            assert!(
                held,
                "owner {gone} gave its hold back, and owner {stays} keeps its own"
            );
            // With the last hold the renewals end.
            reads.release(of(stays)).await.expect("it holds the lock");
            let writer = lock(&env, &names, text);
            attempt(&writer).await.expect("nobody reads any more");
        });
    }
}

/// A lock that one owner has is taken for another owner of the same process.
#[test]
fn every_lock_excludes_another_owner_of_the_process() {
    for (form, nodes) in forms() {
        let text: Rc<str> = form.as_str().into();
        on_servers(&form, nodes, move |env, names| {
            let text = text.clone();
            async move {
                let lock = lock(&env, &names, &text);
                // A client of the coordination service first waits for its leader.
                let held = loop {
                    match attempt_of(&lock, Owner(1)).await {
                        Ok(held) => break held,
                        Err(_) => env.sleep(Duration::from_millis(50)).await,
                    }
                };
                let refused = attempt_of(&lock, Owner(2)).await;
                assert!(refused.is_err(), "{text}: {refused:?}");
                let released = lock.release(&held).await;
                assert!(matches!(released, Ok(1..)), "{text}: {released:?}");
                let next = loop {
                    match attempt_of(&lock, Owner(2)).await {
                        Ok(next) => break next,
                        Err(LockError::NotAcquired { .. }) => {
                            env.sleep(Duration::from_millis(50)).await;
                        }
                        Err(error) => panic!("{text}: {error}"),
                    }
                };
                assert_eq!(next.owner, Owner(2), "{text}");
            }
        });
    }
}

/// At its deadline, and not a nanosecond before, a holder by its own clock cannot extend any more.
#[test]
fn a_lock_that_its_holder_measures_is_over_at_its_deadline() {
    for (text, before_ns) in [
        // The last millisecond is the deadline's.
        ("name = \"getset\"\nttl_ms = 300", 1),
        (
            "name = \"lease-guard\"\nttl_ms = 300\nuncertainty_ms = 40",
            1,
        ),
    ] {
        for (wait_ns, extends) in [(0, false), (before_ns, true)] {
            on_nodes(1, 0, move |env, names| async move {
                let lock = lock(&env, &names, text);
                let grant = attempt(&lock).await.expect("the lock is free");
                let deadline = grant.deadline.expect("a lease");
                assert_eq!(deadline.clock, ClockKind::Wall);
                let left_ns = deadline.at_ns - env.now_ns(ClockKind::Wall) - wait_ns;
                env.sleep(Duration::from_nanos(left_ns)).await;
                let extended = lock.extend(&grant).await;
                assert_eq!(extended.is_ok(), extends, "{text}: {extended:?}");
            });
        }
    }
}

/// A guard is valid until its deadline, and not at it.
#[test]
fn a_guard_is_valid_up_to_its_deadline() {
    for clock in ["wall", "monotonic"] {
        for (before_ns, valid) in [(1, true), (0, false)] {
            on_nodes(1, 0, move |env, names| async move {
                let text = format!("name = \"set-nx-px\"\nttl_ms = 300\nclock = \"{clock}\"");
                let lock = lock(&env, &names, &text);
                let locker = Locker::new(env.clone(), lock, NoopObserver);
                let guard = locker.acquire(Owner::ONLY).await;
                let deadline = guard.deadline().expect("a lease");
                let left_ns = deadline.at_ns - env.now_ns(deadline.clock) - before_ns;
                env.sleep(Duration::from_nanos(left_ns)).await;
                assert_eq!(guard.is_valid(), valid, "{clock}");
            });
        }
    }
}
