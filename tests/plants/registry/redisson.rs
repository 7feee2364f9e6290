//! Mistakes in Redisson's locks.

use super::Binary::{LockUnits, Locks};
use super::Catcher::{Scenario, Test};
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    // Redisson: watchdog, waiting, resending.
    plant(
        "watchdog-renews-once",
        "The watchdog renews once.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-never-stops",
        "The watchdog goes on after the release.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-too-slow",
        "The watchdog renews after twice the lease.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-renews-what-is-lost",
        "The watchdog goes on when the lock is another's.",
        Test(Locks, "redisson"),
    ),
    plant(
        "watchdog-survives-errors",
        "The watchdog tries again after an error that ends it.",
        Scenario("redisson/watchdog-stops"),
    ),
    plant(
        "resend-never",
        "A command without reply is not sent again.",
        Test(LockUnits, "resend"),
    ),
    plant(
        "resend-forgets-doubt",
        "An earlier sending that was not answered is forgotten.",
        Test(LockUnits, "resend"),
    ),
    plant(
        "listening-is-deaf",
        "No message wakes a waiter.",
        Test(Locks, "redisson_waiting::"),
    ),
    plant(
        "listening-without-asking-again",
        "A waiter that has subscribed does not ask again.",
        Test(Locks, "redisson_waiting::"),
    ),
    plant(
        "back-off-does-not-grow",
        "The back-off does not grow.",
        Test(LockUnits, "waiting"),
    ),
    plant(
        "replicas-unconfirmed",
        "A lock counts that no replica has confirmed.",
        Scenario("redisson/no-replica"),
    ),
    // Redisson: locks made of several.
    plant(
        "multi-takes-one",
        "One of the locks is enough.",
        Test(Locks, "redisson_many::a_multi_lock"),
    ),
    plant(
        "redisson-redlock-minority",
        "A minority of the locks is enough.",
        Test(Locks, "redisson_many::"),
    ),
    plant(
        "many-keeps-what-it-took",
        "An attempt that fails keeps what it took.",
        Test(Locks, "redisson_many::"),
    ),
    plant(
        "many-does-not-prolong",
        "The user's lease is not set on what was taken.",
        Test(Locks, "redisson_many::"),
    ),
    // Redisson's scripts.
    plant(
        "redisson-takes-what-is-anothers",
        "A lock that another has is taken.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-is-not-reentrant",
        "An owner waits for itself.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-without-lease",
        "No lease is set.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-fenced-token-constant",
        "Every grant has the same fencing token.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-fenced-takes-what-is-anothers",
        "A lock that another has is taken.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-does-not-count",
        "The first release gives all holds back.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-is-not-published",
        "Nobody is told of a release.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-keeps-the-lock",
        "The key is not deleted.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-latch-is-not-read",
        "A release that is sent again is done again.",
        Test(Locks, "redisson_runs::a_release"),
    ),
    plant(
        "redisson-latch-is-not-kept",
        "The answer to a release is not kept.",
        Test(Locks, "redisson_runs::a_release"),
    ),
    plant(
        "redisson-silent-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-silent-release-does-not-count",
        "The first release gives all holds back.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-renews-what-is-anothers",
        "Another's lease is renewed.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-renewal-does-nothing",
        "A renewal sets no lease and says that it did.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "write-beside-readers",
        "A writer is let in beside readers.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-is-not-reentrant",
        "A writer waits for itself.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-beside-a-writer",
        "A reader is let in beside a writer.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-shortens-the-lease",
        "A second reader cuts the lock's lease to a millisecond.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-release-is-not-published",
        "Nobody is told that the last reader is gone.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-release-frees-for-all",
        "The first reader that goes frees the lock for all.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-renews-the-key-alone",
        "A renewal leaves out the readers' holds.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-releases-what-is-anothers",
        "Another writer's lock is given back.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-release-is-not-published",
        "Nobody is told that the writer is gone.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "fair-serves-the-tail",
        "The last in the queue is served first.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-ignores-the-queue",
        "Whoever finds the lock free takes it.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-keeps-the-stale",
        "A waiter that is gone keeps its place for ever.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-without-lease",
        "No lease is set.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-wakes-nobody",
        "The head of the queue is not told of a release.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-stays-in-the-queue",
        "Who gives up stays in the queue.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "raise-counter-does-not",
        "A counter is said to be raised and is not.",
        Test(Locks, "redlock_fenced::"),
    ),
];
