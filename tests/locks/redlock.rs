//! `redlock`.

use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::env::world::Simulated;
use locklab::history::{ClockKind, Name};
use locklab::locks::DynLock;

use crate::stage::{attempt, call, lock, on_nodes};

fn redlock(env: &Simulated, names: &[Name], more: &str) -> Rc<dyn DynLock> {
    let parameters = format!("name = \"redlock\"\nttl_ms = 1000\n{more}");
    lock(env, names, &parameters)
}

#[test]
fn redlock_works_while_a_majority_is_up_and_never_with_less() {
    for (down, works) in [(0, true), (2, true), (3, false)] {
        on_nodes(5, down, move |env, names| async move {
            let one = redlock(&env, &names, "");
            let other = redlock(&env, &names, "");
            let Ok(grant) = attempt(&one).await else {
                assert!(!works, "{down} of 5 down");
                return;
            };
            assert!(works, "{down} of 5 down");
            assert!(attempt(&other).await.is_err());
            assert_eq!(
                one.release(&grant).await.expect("some answer"),
                5 - down as u32
            );
            attempt(&other).await.expect("the lock is free again");
        });
    }
}

/// Step 4: TTL minus elapsed minus drift, counted from before the first request.
#[test]
fn redlocks_validity_is_counted_from_the_first_request() {
    for order in ["sequential", "parallel"] {
        on_nodes(5, 0, move |env, names| async move {
            let lock = redlock(&env, &names, &format!("order = \"{order}\""));
            lock.connect().await;
            let before_ns = env.now_ns(ClockKind::Wall);
            let grant = attempt(&lock).await.expect("the lock is free");
            let elapsed_ms = (env.now_ns(ClockKind::Wall) - before_ns) / 1_000_000;
            // Five round trips of 2 to 10 ms in turn, or one of the longest.
            let expected = if order == "parallel" { 2..=10 } else { 10..=50 };
            assert!(expected.contains(&elapsed_ms), "{order}: {elapsed_ms} ms");
            // 1 % of 1000 ms and 2 ms are the allowance.
            let valid_ns = grant.deadline.expect("a validity").at_ns - before_ns;
            assert_eq!(valid_ns, (1000 - 10 - 2) * 1_000_000, "{order}");
        });
    }
}

/// R9: what a failed attempt leaves behind.
#[test]
fn a_failed_attempt_releases_what_it_was_told_to() {
    for (mode, left) in [("all", 0), ("acquired", 0), ("none", 2)] {
        on_nodes(5, 0, move |env, names| async move {
            for node in &names[..3] {
                call(&env, node, &["SET", "lock", "another's"]).await;
            }
            let lock = redlock(&env, &names, &format!("release_on_failure = \"{mode}\""));
            assert!(attempt(&lock).await.is_err());
            let mut orphans = 0;
            for node in &names[3..] {
                orphans += call(&env, node, &["EXISTS", "lock"])
                    .await
                    .integer()
                    .unwrap_or(0);
            }
            assert_eq!(orphans, left, "release_on_failure = {mode}");
        });
    }
}

#[test]
fn redlock_extends_on_a_majority() {
    for (lost, extends) in [(2, true), (3, false)] {
        on_nodes(5, 0, move |env, names| async move {
            let lock = redlock(&env, &names, "");
            let grant = attempt(&lock).await.expect("the lock is free");
            for node in &names[..lost] {
                call(&env, node, &["DEL", "lock"]).await;
            }
            env.sleep(Duration::from_millis(500)).await;
            assert_eq!(
                lock.extend(&grant).await.is_ok(),
                extends,
                "{lost} of 5 lost"
            );
        });
    }
}

/// K6: the random values of consecutive grants are in no order, so they are no fencing
/// tokens.
#[test]
fn redlocks_random_values_are_no_order() {
    on_nodes(3, 0, async |env, names| {
        let lock = redlock(&env, &names, "order = \"parallel\"");
        let mut tokens = Vec::new();
        for _ in 0..200 {
            let grant = attempt(&lock).await.expect("the lock is free");
            lock.release(&grant).await.expect("it is ours");
            tokens.push(grant.token);
        }
        let inverted = tokens.windows(2).filter(|pair| pair[0] > pair[1]).count();
        // Of 199 pairs half are expected, with a standard deviation of
        // sqrt(201 / 12) = 4.1; this allows four.
        assert!((83..=116).contains(&inverted), "{inverted} of 199");
    });
}
