//! Mistakes in locks on one node, and in code shared by all locks.

use super::Binary::{LockUnits, Locks};
use super::Catcher::{Scenario, Test};
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    // Waiting and guards.
    plant(
        "retry-no-jitter",
        "The delay between two attempts has no jitter.",
        Test(LockUnits, "lock::"),
    ),
    plant(
        "request-without-patience",
        "A waiter waits beyond its patience.",
        Test(LockUnits, "lock::"),
    ),
    plant(
        "guard-always-valid",
        "A guard says of itself that it is valid, whatever the clock says.",
        Test(Locks, "locker::"),
    ),
    plant(
        "deadline-too-late",
        "A lease's deadline is 50 ms after its end.",
        Test(Locks, "set_nx_px::the_lease_ends"),
    ),
    plant(
        "set-nx-px-from-the-reply",
        "The deadline counts from the reply instead of the request.",
        Test(Locks, "set_nx_px::the_lease_ends"),
    ),
    plant(
        "set-nx-px-looks-first",
        "A waiter asks for the lock only when its key is gone, so it never accesses the key.",
        Scenario("memory/evicted-polled"),
    ),
    // Releases on one node.
    plant(
        "del-deletes-nothing",
        "`DEL` deletes another key.",
        Test(Locks, "set_nx_px::"),
    ),
    plant(
        "get-del-ignores-value",
        "The value is not compared before `DEL`.",
        Test(Locks, "set_nx_px::only_del"),
    ),
    plant(
        "watch-del-without-watch",
        "The transaction watches nothing.",
        Test(Locks, "set_nx_px::a_transaction"),
    ),
    plant(
        "compare-delete-without-comparing",
        "The script deletes whoever's lock it is.",
        Test(Locks, "set_nx_px::only_del"),
    ),
    plant(
        "compare-expire-without-comparing",
        "The script prolongs whoever's lease it is.",
        Test(Locks, "set_nx_px::a_lease_is_prolonged"),
    ),
    plant(
        "compare-expire-does-nothing",
        "The script prolongs nothing and says that it did.",
        Test(Locks, "set_nx_px::a_lease_is_prolonged"),
    ),
    // Locks on one node.
    plant(
        "set-without-nx",
        "`SET` overwrites another's lock.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "set-without-px",
        "`SET` gives no lease.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "set-nx-px-same-token",
        "Every grant has the same value.",
        Test(Locks, "set_nx_px::a_token_is"),
    ),
    plant(
        "set-with-token-constant",
        "The script gives every grant the same fencing token.",
        Test(Locks, "set_nx_px::fencing_tokens"),
    ),
    plant(
        "set-with-token-without-px",
        "The script that draws a token gives no lease.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "wait-for-no-replica",
        "The lock counts before a replica has it.",
        Scenario("redis-docs/r4-wait"),
    ),
    plant(
        "wait-is-not-heeded",
        "The lock counts though too few replicas have it.",
        Scenario("redis-docs/r4-wait"),
    ),
    plant(
        "never-resent",
        "A command without reply is not sent again.",
        Test(Locks, "set_nx_px::a_set_that_is_resent"),
    ),
    plant(
        "expire-never",
        "The second command is never sent.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "expire-at-once",
        "The lease is one millisecond.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "repair-nothing",
        "A lock without lease is left so.",
        Scenario("seeds/setnx-expire-repair"),
    ),
    plant(
        "setnx-expire-lua-without-lease",
        "The script gives no lease.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "getset-believes-the-loser",
        "Who loses the race for an expired lock believes that it has it.",
        Scenario("redis-docs/s2"),
    ),
    plant(
        "getset-ignores-the-time",
        "A lock whose time is not past is taken over.",
        Test(Locks, "getset::"),
    ),
    plant(
        "getset-release-unchecked",
        "The holder does not look at the clock before it deletes.",
        Scenario("redis-docs/s3-checked"),
    ),
    plant(
        "getset-as-listed-never-expires",
        "No lock is ever found expired.",
        Scenario("seeds/getset-as-listed"),
    ),
    plant(
        "local-counts-keep-the-last",
        "The last hold is counted but never given back.",
        Test(LockUnits, "local_counts"),
    ),
    plant(
        "local-counts-of-anybody",
        "One owner gets the lock from the count of another.",
        Test(LockUnits, "local_counts"),
    ),
];
