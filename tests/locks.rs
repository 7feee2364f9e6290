//! What each lock promises, on simulated nodes without faults and with nodes missing.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::env::world::{Directory, PORT, Simulated};
use locklab::history::{ClockKind, Name};
use locklab::locks::set_nx_px::Release;
use locklab::locks::{AcquireError, DynLock, ExtendError, LockSpec};
use locklab::redis::{Client, Error, Reply};
use locklab_sim::redis::NodeConfig;
use locklab_sim::serve;
use locklab_sim::world::{Config, HostConfig, World};

/// Runs `test` on a client of nodes `n1`, `n2`, …, the last `down` of which do not run.
#[track_caller]
fn on_nodes<F, Fut>(nodes: usize, down: usize, test: F)
where
    F: Fn(Simulated, Vec<Name>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut world = World::new(Config::default(), &vec![HostConfig::default(); nodes + 1]);
    let hosts = world.hosts();
    let names: Vec<Name> = (1..=nodes).map(|i| format!("n{i}").into()).collect();
    let directory = Directory::new(
        names
            .iter()
            .cloned()
            .zip(hosts[1..].iter().copied())
            .collect(),
    );
    for node in &hosts[1..=nodes - down] {
        world.start(*node, |host| {
            serve::redis(host, NodeConfig::default(), PORT)
        });
    }
    let done = Rc::new(Cell::new(false));
    let (test, finished) = (Rc::new(test), done.clone());
    world.start(hosts[0], move |host| {
        let env = Simulated::new(host.clone(), directory.clone(), "c1");
        let (test, finished, names) = (test.clone(), finished.clone(), names.clone());
        async move {
            test(env, names).await;
            finished.set(true);
            host.stop_world();
        }
    });
    world.run(60_000_000_000);
    assert!(
        done.get(),
        "the test did not come to its end within a virtual minute"
    );
}

fn spec(text: &str) -> LockSpec {
    toml::from_str(text).expect("sound parameters")
}

fn set_nx_px(env: &Simulated, names: &[Name], more: &str) -> Box<dyn DynLock> {
    spec(&format!("name = \"set-nx-px\"\nttl_ms = 1000\n{more}")).build(env.clone(), names)
}

fn redlock(env: &Simulated, names: &[Name], more: &str) -> Box<dyn DynLock> {
    spec(&format!("name = \"redlock\"\nttl_ms = 1000\n{more}")).build(env.clone(), names)
}

async fn call(env: &Simulated, node: &Name, command: &[&str]) -> Reply {
    let mut client = Client::new(env.clone(), node.clone(), None);
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    client.call(&words).await.expect("the node answers")
}

#[test]
fn one_at_a_time_and_again_after_the_release() {
    on_nodes(1, 0, async |env, names| {
        let mut one = set_nx_px(&env, &names, "");
        let mut other = set_nx_px(&env, &names, "");
        let grant = one.try_acquire().await.expect("the lock is free");
        assert!(matches!(
            other.try_acquire().await,
            Err(AcquireError::NotAcquired(_))
        ));
        assert_eq!(one.release(&grant).await.expect("the node answers"), 1);
        assert_eq!(one.release(&grant).await.expect("the node answers"), 0);
        other.try_acquire().await.expect("the lock is free again");
    });
}

#[test]
fn the_lease_ends_by_itself_and_not_before_the_holder_knows() {
    on_nodes(1, 0, async |env, names| {
        let mut one = set_nx_px(&env, &names, "");
        let mut other = set_nx_px(&env, &names, "");
        let grant = one.try_acquire().await.expect("the lock is free");
        let deadline = grant.deadline.expect("it has a lease");
        while other.try_acquire().await.is_err() {
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

/// What each release deletes when the lock has become somebody else's.
#[test]
fn only_del_deletes_anothers_lock() {
    for (release, deletes) in [
        (Release::Del, 1),
        (Release::GetDel, 0),
        (Release::CompareDel, 0),
        (Release::WatchDel, 0),
    ] {
        let name = serde_json::to_string(&release).expect("a name");
        on_nodes(1, 0, move |env, names| {
            let name = name.clone();
            async move {
                let mut lock = set_nx_px(&env, &names, &format!("release = {name}"));
                let grant = lock.try_acquire().await.expect("the lock is free");
                call(&env, &names[0], &["SET", "lock", "another's"]).await;
                assert_eq!(
                    lock.release(&grant).await.expect("answers"),
                    deletes,
                    "{name}"
                );
                let kept = call(&env, &names[0], &["EXISTS", "lock"]).await;
                assert_eq!(kept, Reply::Integer(1 - i64::from(deletes)), "{name}");
                // And its own it does delete.
                call(&env, &names[0], &["DEL", "lock"]).await;
                let grant = lock.try_acquire().await.expect("the lock is free");
                assert_eq!(lock.release(&grant).await.expect("answers"), 1, "{name}");
            }
        });
    }
}

#[test]
fn a_lease_is_prolonged_for_its_holder_alone() {
    on_nodes(1, 0, async |env, names| {
        let mut lock = set_nx_px(&env, &names, "");
        let first = lock.try_acquire().await.expect("the lock is free");
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
            Err(ExtendError::Lost(_))
        ));
    });
}

#[test]
fn fencing_tokens_rise_from_grant_to_grant() {
    on_nodes(1, 0, async |env, names| {
        let mut lock = set_nx_px(&env, &names, "fencing_token = true");
        let mut tokens = Vec::new();
        for _ in 0..3 {
            let grant = lock.try_acquire().await.expect("the lock is free");
            assert!(
                lock.try_acquire().await.is_err(),
                "held, so no token is drawn"
            );
            tokens.push(grant.fencing_token.expect("a token"));
            lock.release(&grant).await.expect("the node answers");
        }
        assert_eq!(tokens, [1, 2, 3]);
    });
}

#[test]
fn redlock_works_while_a_majority_is_up_and_never_with_less() {
    for (down, works) in [(0, true), (2, true), (3, false)] {
        on_nodes(5, down, move |env, names| async move {
            let mut one = redlock(&env, &names, "");
            let mut other = redlock(&env, &names, "");
            let Ok(grant) = one.try_acquire().await else {
                assert!(!works, "{down} of 5 down");
                return;
            };
            assert!(works, "{down} of 5 down");
            assert!(other.try_acquire().await.is_err());
            assert_eq!(
                one.release(&grant).await.expect("some answer"),
                5 - down as u32
            );
            other.try_acquire().await.expect("the lock is free again");
        });
    }
}

/// Step 4: TTL minus elapsed minus drift, counted from before the first request.
#[test]
fn redlocks_validity_is_counted_from_the_first_request() {
    for order in ["sequential", "parallel"] {
        on_nodes(5, 0, move |env, names| async move {
            let mut lock = redlock(&env, &names, &format!("order = \"{order}\""));
            lock.connect().await;
            let before_ns = env.now_ns(ClockKind::Wall);
            let grant = lock.try_acquire().await.expect("the lock is free");
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
            let mut lock = redlock(&env, &names, &format!("release_on_failure = \"{mode}\""));
            assert!(lock.try_acquire().await.is_err());
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
            let mut lock = redlock(&env, &names, "");
            let grant = lock.try_acquire().await.expect("the lock is free");
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

#[test]
fn a_client_knows_whether_its_command_may_have_been_executed() {
    on_nodes(2, 1, async |env, names| {
        let mut down = Client::new(env.clone(), names[1].clone(), None);
        let refused = down.call(&[b"PING"]).await;
        assert!(matches!(refused, Err(Error::NotSent { .. })), "{refused:?}");
        // Connected within 10 ms, but no reply can come within 1 ms.
        let mut hasty = Client::new(
            env.clone(),
            names[0].clone(),
            Some(Duration::from_millis(1)),
        );
        let mut patient = Client::new(env.clone(), names[0].clone(), None);
        patient.connect().await.expect("the node listens");
        let unsent = hasty.call(&[b"SET", b"k", b"v"]).await;
        assert!(matches!(unsent, Err(Error::NotSent { .. })), "{unsent:?}");
        let wrong = patient.call(&[b"NOPE"]).await;
        assert!(matches!(wrong, Err(Error::Refused { .. })), "{wrong:?}");
        assert_eq!(
            patient.call(&[b"EXISTS", b"k"]).await.expect("answers"),
            Reply::Integer(0)
        );
    });
}
