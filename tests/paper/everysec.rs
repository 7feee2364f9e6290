//! The rate at which a power loss takes a lock from a node that syncs once a second, from
//! runs and on paper.

use locklab_check::Property;

use super::{agrees, printed, some_of};

/// Runs of each point: 3.29 standard errors are then at most 4.3 percentage points.
const RUNS: u64 = 1500;

/// The rate of `redis-docs/r12-everysec`, derived in the scenario: times in milliseconds.
///
/// `window` is the time from the write to the node until its power loss. The client writes to
/// all nodes at the same time, reaches this one a latency later, and has the lock when it has
/// waited for the unreachable nodes.
fn paper(node_timeout: f64, latency: f64, delay: f64) -> f64 {
    let window = node_timeout - latency + delay;
    (1.0 - window / 1000.0).max(0.0)
}

#[track_caller]
fn check(sets: &[&str], expected: f64) {
    for property in [Property::Lease, Property::Resource] {
        let rate = printed("redis-docs/r12-everysec", sets, property, some_of(RUNS));
        let told = rate.describe("runs");
        assert!(
            agrees(rate, expected),
            "{property}: {told}, calculated {expected:.4}"
        );
    }
}

#[test]
fn the_rate_falls_with_the_time_until_the_power_goes() {
    for delay in [52.0, 452.0, 852.0] {
        let set = format!("fault.power.delay_ms={delay}");
        check(&[&set], paper(50.0, 2.0, delay));
    }
}

#[test]
fn the_formula_holds_for_another_network_and_another_load_too() {
    check(
        &[
            "network.latency_ms=10",
            "lock.node_timeout_ms=200",
            "node.other_writes_every_ms=50",
            "fault.power.delay_ms=100",
        ],
        paper(200.0, 10.0, 100.0),
    );
}

/// If no other client writes (or only once a year), the lock is the first write of its second
/// and is synced immediately.
#[test]
fn alone_on_its_node_the_lock_is_never_lost() {
    let idle = "node.other_writes_every_ms=30000000000";
    check(&[idle, "fault.power.delay_ms=0"], 0.0);
}

/// After a whole second all writes are synced.
#[test]
fn after_a_second_nothing_is_lost() {
    check(&["fault.power.delay_ms=1000"], paper(50.0, 2.0, 1000.0));
}

/// Shows that the test can fail: it detects a window that is wrong by a tenth of a second.
#[test]
fn a_wrong_formula_would_be_noticed() {
    let sets = ["fault.power.delay_ms=302"];
    let rate = printed(
        "redis-docs/r12-everysec",
        &sets,
        Property::Lease,
        some_of(2 * RUNS),
    );
    assert!(!agrees(rate, paper(50.0, 2.0, 402.0)));
}
