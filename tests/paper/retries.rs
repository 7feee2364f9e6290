//! Retries in step (R10), partitions that come back (R11) and majorities that are down (R3), from
//! runs and on paper.

use locklab_check::Property;

use super::{agrees, cell, printed, some_of};

/// The probability that one of `n` clients that ask five nodes at the same instant gets three.
fn somebody_wins(n: f64) -> f64 {
    let (p, q) = (1.0 / n, 1.0 - 1.0 / n);
    n * (10.0 * p.powi(3) * q.powi(2) + 5.0 * p.powi(4) * q + p.powi(5))
}

/// Ten attempts, 208 ms apart, end within 2 s. Runs: a standard error of 1.2 points.
const ATTEMPTS: i32 = 10;
const RUNS: u64 = 600;

#[test]
fn clients_in_step_collide_as_often_as_chance_has_it() {
    for clients in [2, 6, 10] {
        let set = format!("topology.clients={clients}");
        let runs = some_of(RUNS);
        let rate = printed("redis-docs/r10", &[&set], Property::Deadlock, runs);
        let expected = (1.0 - somebody_wins(f64::from(clients)).min(1.0)).powi(ATTEMPTS);
        let told = rate.describe("runs");
        assert!(
            agrees(rate, expected),
            "{clients} clients: {told}, calculated {expected:.4}"
        );
    }
}

/// It takes the same instant: a tenth of a millisecond of random delay lets the first one win.
#[test]
fn clients_that_are_nearly_in_step_do_not_keep_each_other_out() {
    let set = "network.latency_ms={ uniform = [1.9, 2.1] }";
    let rate = printed("redis-docs/r10", &[set], Property::Deadlock, some_of(200));
    assert_eq!(rate.violated, 0);
}

/// R11: a partition costs a lease, less the time for which the lock was held when it began.
#[test]
fn partitions_take_a_lease_each() {
    const HORIZON_MS: f64 = 20_000.0;
    let writes = |every_ms: f64| {
        let set = format!("fault.cut.every_ms={every_ms}");
        cell("redis-docs/r11", &[&set], some_of(8)).writes.per_run()
    };
    let undisturbed = writes(HORIZON_MS);
    for every_ms in [2000.0, 4000.0] {
        let left = writes(every_ms) / undisturbed;
        let partitions = HORIZON_MS / every_ms - 1.0;
        let calculated = 1.0 - partitions * 1000.0 / HORIZON_MS;
        assert!(
            (left - calculated).abs() < 0.03,
            "every {every_ms} ms: {left:.3}, calculated {calculated:.3}"
        );
    }
    // With one in each lease hardly any time is left.
    let left = writes(1000.0) / undisturbed;
    assert!(left < 0.15, "{left:.3}");
}

#[test]
fn without_a_majority_nobody_ever_works() {
    let runs = some_of(200);
    let down = cell("redis-docs/r3-majority-down", &[], runs);
    assert_eq!(down.writes.updates.acknowledged, 0);
    let up = cell("redis-docs/r3", &[], runs);
    // Three clients, three rounds.
    assert_eq!(up.writes.updates.acknowledged, 3 * 3 * runs);
}
