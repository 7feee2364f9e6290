//! Details of the runs of Redisson's scenarios besides their verdicts.

use locklab_history::{Event, History, Op, Outcome};
use locklab_model::fault::expand;
use locklab_model::scenario::{load, parse};
use locklab_runner::simulate::{Keep, simulate};

const SEEDS: u64 = 20;

/// Checks the histories of a shipped scenario.
fn each_run(name: &str, look: impl Fn(&History)) {
    let scenario = load(name, &[]).expect("a shipped scenario");
    for seed in 0..SEEDS {
        let schedule = expand(&scenario.fault, seed);
        look(
            &simulate(&scenario, seed, &schedule, Keep::default())
                .expect("it ends")
                .history,
        );
    }
}

/// The outcomes of a client's releases, with the number of keys that each deleted.
fn releases(history: &History, client: &str) -> Vec<(Outcome, Option<u32>)> {
    let mut releases = Vec::new();
    for record in history
        .records
        .iter()
        .filter(|record| *record.host == *client)
    {
        match record.event {
            Event::Complete {
                op: Op::Release,
                outcome,
                ..
            } => releases.push((outcome, None)),
            Event::Released { removed, .. } => {
                if let Some((_, keys)) = releases.last_mut() {
                    *keys = Some(removed);
                }
            }
            _ => {}
        }
    }
    releases
}

/// The times at which a client was granted the lock, in milliseconds of true time.
fn grants_ms(history: &History, client: &str) -> Vec<u64> {
    let records = history.records.iter();
    let grants = records.filter(|record| {
        *record.host == *client && matches!(record.event, Event::BeliefBegins { .. })
    });
    grants.map(|record| record.at_ns / 1_000_000).collect()
}

#[test]
fn an_acquire_that_counts_twice_keeps_the_lock_from_everybody_else() {
    each_run("redisson/resent-acquire", |history| {
        let releases = releases(history, "c1");
        assert_eq!(releases[0], (Outcome::Ok, Some(1)));
        assert!(releases.len() > 10);
        for release in &releases[1..] {
            assert_eq!(*release, (Outcome::Ok, Some(0)), "a hold remains");
        }
        assert!(grants_ms(history, "c1").len() > 10);
        // c2 may have got the lock before the reply was lost, but not after.
        assert!(grants_ms(history, "c2").is_empty());
    });
}

#[test]
fn a_release_that_is_sent_again_is_not_the_owners_unless_its_answer_was_kept() {
    each_run("redisson/resent-release", |history| {
        let second = releases(history, "c1")[1];
        assert_eq!(second, (Outcome::Failed, None));
    });
    each_run("redisson/resent-release-latched", |history| {
        let second = releases(history, "c1")[1];
        assert_eq!(second, (Outcome::Ok, Some(1)));
    });
}

/// 30 s of lease, counted from the holder's script, for a lock that was held for 100 ms.
#[test]
fn waiter_without_notification_waits_for_the_end_of_the_lease() {
    each_run("redisson/keyspace", |history| {
        let first = grants_ms(history, "c2")[0];
        assert!((30_000..30_050).contains(&first), "{first} ms");
    });
}

/// The master crashes while c2 is subscribed to it. The crash is silent, so c2 keeps its
/// connection until it uses it, 30 s later. Then it subscribes to the new master.
#[test]
fn a_waiter_listens_to_the_new_master_after_a_failover() {
    let text = r#"
        title = "A waiter and a failover"
        about = "The lock is replicated when the master crashes; the watchdog goes on."
        source = "this test"
        horizon_ms = 120_000
        topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 2 }
        lock = { name = "redisson", check_replicas = true }
        sentinel = { down_after_ms = 1000, failover_timeout_ms = 6000 }
        workload = { hold_ms = 70_000, start_ms = 4000, client = { c2 = { start_ms = 4500 } } }
        fault.dies = { kind = "crash", on = "n1", at_ms = 6000 }
    "#;
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    for seed in 0..SEEDS {
        let schedule = expand(&scenario.fault, seed);
        let history = simulate(&scenario, seed, &schedule, Keep::default())
            .expect("it ends")
            .history;
        let released = history.records.iter().find(|record| {
            *record.host == *"c1" && matches!(record.event, Event::Released { removed: 1, .. })
        });
        let released_ms = released.expect("its own lock").at_ns / 1_000_000;
        let granted_ms = grants_ms(&history, "c2")[0];
        // The message and the attempt: three one-way latencies of 1 to 5 ms, and three more
        // if the script is not cached.
        let after_ms = granted_ms as i64 - released_ms as i64;
        assert!((-5..30).contains(&after_ms), "seed {seed}: {after_ms} ms");
    }
}
