//! Requests that take the lock.

use super::*;

/// As a holder does that wakes up after its lease and renews it.
#[test]
fn a_set_that_replaces_anothers_value_takes_the_lock_over() {
    let renewed = |way: &'static str| {
        (one_node().calls("c1 n1", 10, "SET lock one NX PX 1000"))
            .calls(way, 1100, "SET lock two NX PX 1000")
            .calls("c1 n1", 1200, "SET lock one PX 1000")
            .calls("c1 n1", 1500, "SET lock one PX 1000")
    };
    let others = ("c2", 1102, 2100);
    renewed("c2 n1").check(&[("c1", 12, 1010), others, ("c1", 1202, 2500)]);
    // It does not follow what a client has that replaces its own value.
    renewed("c1 n1").check(&[("c1", 12, 1010), ("c1", 1102, 1200)]);
    // An entry of a cache belongs to nobody.
    let cache = one_node().calls("c1 n1", 10, "SET lock one PX 1000");
    (cache.calls("c2 n1", 500, "SET lock two PX 1000")).check(&[("c1", 12, 1010)]);
}

#[test]
fn a_field_that_is_set_only_if_absent_takes_the_lock() {
    let taken = (one_node().calls("c1 n1", 10, "HSETNX lock owner one")).calls(
        "c1 n1",
        20,
        "PEXPIRE lock 1000",
    );
    let asks = taken.calls("c2 n1", 30, "HSETNX lock owner two");
    asks.check(&[("c1", 22, 1020)]);
}

#[test]
fn a_script_that_knows_the_key_takes_the_lock() {
    one_node()
        .calls("c1 n1", 10, "EVALSHA 5d1f a 1000")
        .check(&[("c1", 12, 1010)]);
}
