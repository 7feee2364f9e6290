//! R2, "deadlock free": the holder crashes at each of its steps in turn, with every lock on
//! one node. And R14, the limit of that property.

use locklab_ask::problems::{Setting, rows};
use locklab_check::{Property, Verdict, judge};
use locklab_evidence::{Finding, Prediction};
use locklab_history::Event;
use locklab_locks::Servers;
use locklab_model::scenario::{load, parse};
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use std::sync::atomic::AtomicBool;

/// The steps that a client of every lock passes.
const STEPS: [&str; 7] = [
    "acquiring",
    "acquired",
    "read",
    "wrote",
    "releasing",
    "deleting",
    "released",
];

/// The steps at which the client holds the lock.
const HOLDING: [&str; 5] = ["acquired", "read", "wrote", "releasing", "deleting"];

/// Locks, or single forms of one, whose lease does not come in one step with the lock, is pushed on
/// by those who wait, or ends without their notice. The other tests are about them.
const OTHERWISE: [&str; 7] = [
    "setnx",
    "setnx-expire",
    "setnx-expire (release compare-del)",
    "setnx-expire-repair",
    "getset-as-listed (with expiry)",
    "redisson-fair",
    "redisson-fair (lease given)",
];

fn job(lock: &str, step: &str) -> Job {
    let text = format!(
        r#"
        title = "The holder crashes"
        horizon_ms = 10_000
        topology = {{ clients = 3 }}
        lock = {{ {lock} }}

        [workload]
        hold_ms = 100
        start_ms = {{ uniform = [5, 50] }}
        client.c1 = {{ start_ms = 0 }}

        [fault.crash]
        kind = "crash"
        on = "c1"
        after = "c1 {step}"
        "#
    );
    Job {
        scenario: parse("r2.toml", &text, &[]).expect("a sound scenario"),
        parameters: vec![],
        seeds: 0..80,
    }
}

/// Checks that a crash at the steps `stuck`, and at no other of `steps`, makes the lock
/// unavailable to all clients.
fn check(lock: &str, steps: &[&str], stuck: &[&str]) {
    let jobs: Vec<Job> = steps.iter().map(|step| job(lock, step)).collect();
    check_jobs(lock, &jobs, steps, stuck);
}

fn check_jobs(lock: &str, jobs: &[Job], steps: &[&str], stuck: &[&str]) {
    let stop = AtomicBool::new(false);
    let cells = run(jobs, &BatchOptions::quiet(2, &stop)).expect("no panic");
    for (step, cell) in steps.iter().zip(cells) {
        let tally = cell.expect("nobody stopped it").tallies[&Property::Deadlock];
        let expected = match stuck.contains(step) {
            true => Finding::Violated,
            false => Finding::Holds,
        };
        // A client that dies before its first request, or when it has released the lock, leaves nothing behind.
        let is_bystander = ["acquiring", "released"].contains(step);
        let expected = match expected {
            Finding::Holds if is_bystander && tally.holds == 0 => Finding::Inconclusive,
            expected => expected,
        };
        let finding = Prediction::HOLDS.finding(&tally);
        assert_eq!(finding, expected, "{lock} at {step}: {tally:?}");
    }
}

#[test]
fn crash_with_an_atomic_lease_never_keeps_the_lock() {
    let setting = Setting {
        lease_ms: 1000,
        parameters: toml::Table::new(),
    };
    for row in rows() {
        let lock = row.lock(&setting).expect("a row is sound");
        let is_on_one_node = lock.nodes() == 1 && lock.servers() == Servers::Redis;
        if is_on_one_node && !OTHERWISE.contains(&row.label.as_str()) {
            let jobs = STEPS.map(|step| {
                let mut job = job(r#"name = "setnx""#, step);
                job.scenario.lock = lock.clone();
                job
            });
            check_jobs(&row.label, &jobs, &STEPS, &[]);
        }
    }
}

#[test]
fn crash_without_lease_keeps_the_lock_while_the_client_has_it() {
    check(r#"name = "setnx""#, &STEPS, &HOLDING);
}

#[test]
fn with_a_lease_in_two_steps_it_does_between_them() {
    let steps = [&STEPS[..], &["expiring"]].concat();
    let lock = r#"name = "setnx-expire", ttl_ms = 1000"#;
    check(lock, &steps, &["expiring"]);
    let lock = r#"name = "setnx-expire-repair", ttl_ms = 1000"#;
    check(lock, &steps, &[]);
}

#[test]
fn crash_with_an_expiry_that_waiters_postpone_keeps_the_lock() {
    let lock = r#"name = "getset-as-listed", ttl_ms = 2000"#;
    check(lock, &STEPS, &HOLDING);
}

/// Redisson 3.23.5 (claim B18): a waiter that asks shortly before the end of the lease then waits
/// for a message only.
#[test]
fn crash_with_an_expiry_that_is_not_announced_may_keep_the_lock() {
    let lock = r#"name = "redisson-fair", watchdog_ms = 1000"#;
    check(lock, &STEPS, &HOLDING);
}

/// R14: a client that extends without limit and hangs holds the lock without end and violates no
/// other property.
#[test]
fn holder_that_extends_without_limit_is_never_followed() {
    let granted = |limit: &[String], client: &str| {
        let scenario = load("redis-docs/r14", limit).expect("it ships");
        let run = judged::run(&scenario, 1, Keep::default()).expect("it ends");
        let begins = |event: &Event| matches!(event, Event::BeliefBegins { .. });
        let records = run.history.records.iter();
        records
            .filter(|record| &*record.host == client && begins(&record.event))
            .count()
    };
    assert_eq!(granted(&[], "c2"), 0);
    // It extended three times in each second of twenty.
    assert!(granted(&[], "c1") > 55);
    // If the work has an end, the other client gets the lock.
    let ends = ["workload.client.c1.hold_ms=2000".to_owned()];
    assert_eq!(granted(&ends, "c2"), 1);
}

/// A bound derived from the lease detects a lease that is too long: here by a fifth.
#[test]
fn a_lease_a_fifth_too_long_is_found() {
    let violated = |ttl_ms: u64| violated_r2(&[format!("lock.ttl_ms={ttl_ms}")], &[]);
    assert_eq!(violated(1000), 0);
    assert!(violated(1200) > 0);
}

/// A bound that knows of late timers allows for them, and no other does.
#[test]
fn late_timers_extend_the_bound() {
    let late = "clocks.timers_late_ms=200".to_owned();
    // They wait from the crash on: a timer for the start would be late too.
    let at_once = "workload.start_ms=0".to_owned();
    let run = [late.clone(), at_once];
    assert_eq!(violated_r2(&run, &[late]), 0);
    assert!(violated_r2(&run, &[]) > 0);
}

/// How many of a hundred runs of `redis-docs/r2` with these overrides exceed the bound that the
/// scenario has with those.
fn violated_r2(run: &[String], told: &[String]) -> usize {
    let told = load("redis-docs/r2", told).expect("it ships");
    let run = load("redis-docs/r2", run).expect("it ships");
    let runs = (0..100).map(|seed| {
        judged::run(&run, seed, Keep::default())
            .expect("it ends")
            .history
    });
    let verdicts = runs.map(|history| judge(&history, &judged::bounds(&told)));
    verdicts
        .filter(|verdicts| matches!(verdicts[&Property::Deadlock], Verdict::Violated(_)))
        .count()
}

/// A lock without a lease whose holder died is not excused by a fault that cannot block a client: a
/// fault of the resource's link, of another client's, or a negligible delay.
#[test]
fn harmless_faults_excuse_no_wait() {
    for fault in [
        r#"kind = "slow-link", from = "resource", to = "n1", extra_ms = 1"#,
        r#"kind = "slow-link", from = ["c2", "c3"], to = "n1", extra_ms = 1"#,
        r#"kind = "partition", from = "c1", to = "n1""#,
        r#"kind = "crash", on = "resource""#,
    ] {
        let mut job = job(r#"name = "setnx""#, "acquired");
        // Both faults occur in all of these seeds.
        job.seeds = 0..20;
        let fault = format!("fault = {{ f = {{ {fault}, at_ms = 60 }} }}");
        let crash = &job.scenario.fault["crash"];
        let text = format!(
            "title = \"t\"\ntopology = {{ clients = 3 }}\nlock = {{ name = \"setnx\" }}\n{fault}"
        );
        let other = parse("t.toml", &text, &[]).expect("a sound scenario");
        let faults = [("crash".to_owned(), crash.clone())].into_iter();
        job.scenario.fault = faults.chain(other.fault).collect();
        let stop = AtomicBool::new(false);
        let cells = run(&[job], &BatchOptions::quiet(2, &stop)).expect("no panic");
        let cell = cells
            .into_iter()
            .next()
            .flatten()
            .expect("nobody stopped it");
        let tally = cell.tallies[&Property::Deadlock];
        assert_eq!(tally.violated, 20, "{fault}: {tally:?}");
    }
}
