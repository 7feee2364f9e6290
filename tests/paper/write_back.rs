//! The rate at which a power loss takes a lock from a node that leaves it to the kernel to write its
//! append-only file (`appendfsync no`), from runs and on paper.
//!
//! By the kernel's documentation the file is written at the first wake-up of a flusher thread, each 5 s,
//! after the lock has been in it for 30 s. The lock is the only thing in it. So of the locks that
//! are w seconds old when the power fails, all are lost up to w = 30, none from w = 35, and in between a
//! share of 1 - (w - 30) / 5: when the thread wakes does not depend on the lock.

use locklab_check::Property;

use super::{agrees, printed, some_of};

const RUNS: u64 = 500;

/// `redis-docs/r12-everysec` with another policy and a lease of a minute, of which the first client uses
/// most; the second one arrives after the power loss and seldom tries again, and no other client writes. As derived there, the
/// lock is 48 ms older than the delay of the fault.
#[track_caller]
fn check(age_s: f64, expected: f64) {
    let delay = format!("fault.power.delay_ms={}", age_s * 1000.0 - 48.0);
    let sets = [
        "node.persistence=aof-no",
        "node.other_writes_every_ms=30000000000",
        "lock.ttl_ms=60000",
        "lock.retry_delay_ms=1000",
        "workload.client.c1.hold_ms=50000",
        "workload.client.c2.start_ms=40000",
        &delay,
    ];
    for property in [Property::Lease, Property::Resource] {
        let rate = printed("redis-docs/r12-everysec", &sets, property, some_of(RUNS));
        let told = rate.describe("runs");
        assert!(
            agrees(rate, expected),
            "{property}: {told}, calculated {expected:.4}"
        );
    }
}

#[test]
fn until_half_a_minute_after_the_grant_every_lock_is_lost() {
    check(29.9, 1.0);
}

#[test]
fn from_the_last_possible_write_back_no_lock_is_lost() {
    check(35.1, 0.0);
}

#[test]
fn in_between_the_rate_falls_with_the_wake_ups_that_were_possible() {
    for age_s in [31.0, 32.5, 34.0] {
        check(age_s, 1.0 - (age_s - 30.0) / 5.0);
    }
}
