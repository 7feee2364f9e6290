//! Requests that take the lock.

use super::*;

/// As a holder does that wakes up after its lease and renews it.
#[test]
fn overwriting_another_clients_value_takes_the_lock_over() {
    let renewed = |way: &'static str, renewal: &str| {
        (one_node().calls("c1 n1", 10, "SET lock one NX PX 1000"))
            .calls(way, 1100, "SET lock two NX PX 1000")
            .calls("c1 n1", 1200, renewal)
            .calls("c1 n1", 1500, renewal)
    };
    let (first, other) = (("c1", 12, 1010), ("c2", 1102, 2100));
    for renewal in [
        "SET lock one PX 1000",
        "SET lock one XX PX 1000",
        "PSETEX lock 1000 one",
    ] {
        renewed("c2 n1", renewal).check(&[first, other, ("c1", 1202, 2500)]);
    }
    // Whose value it was, this client learns.
    renewed("c2 n1", "SET lock one GET PX 1000").check(&[first, other]);
    // What a client that replaces its own value has then is unknown.
    renewed("c1 n1", "SET lock one PX 1000").check(&[first, ("c1", 1102, 1200)]);
    // An entry of a cache belongs to nobody.
    let cache = one_node().calls("c1 n1", 10, "SET lock one PX 1000");
    (cache.calls("c2 n1", 500, "SET lock two PX 1000")).check(&[first]);
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
