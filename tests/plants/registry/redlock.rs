//! Mistakes in Redlock, and Redlock with fencing tokens.

use super::Binary::Locks;
use super::Catcher::{Scenario, Test};
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    plant(
        "redlock-quorum-too-small",
        "One node fewer than a majority is enough.",
        Test(Locks, "redlock::redlock_works"),
    ),
    plant(
        "redlock-any-reply",
        "A node that refuses counts as one that grants.",
        Scenario("redis-docs/r9-released"),
    ),
    plant(
        "redlock-same-token",
        "Every grant has the same random value.",
        Test(Locks, "redlock::"),
    ),
    plant(
        "redlock-no-node-timeout",
        "A client waits for a silent node for ever.",
        Scenario("problems/node-down"),
    ),
    plant(
        "redlock-no-drift-allowance",
        "Nothing is taken off the validity for drift.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-from-the-reply",
        "The validity counts from the last reply instead of the first request.",
        Scenario("kleppmann/k13"),
    ),
    plant(
        "redlock-no-elapsed-check",
        "A lease that is over before it was granted counts.",
        Scenario("kleppmann/k13"),
    ),
    plant(
        "redlock-no-release-after-failure",
        "A failed attempt gives nothing back.",
        Test(Locks, "redlock::a_failed_attempt"),
    ),
    plant(
        "redlock-release-only-where-acquired",
        "A failed attempt gives back only where the reply said that it was granted.",
        Test(Locks, "redlock::what_was_granted"),
    ),
    plant(
        "redlock-releases-first-alone",
        "The first node alone is released.",
        Test(Locks, "redlock::redlock_works"),
    ),
    plant(
        "redlock-extends-without-majority",
        "An extension counts without a majority.",
        Test(Locks, "redlock::redlock_extends"),
    ),
    plant(
        "redlock-extends-too-late",
        "The time that extending took is not counted.",
        Test(Locks, "redlock::an_extension"),
    ),
    plant(
        "redlock-parallel-in-turn",
        "Nodes that are to be asked at once are asked in turn.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-parallel-waits-for-first",
        "Of nodes that are asked at once the first alone is asked.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-random-value-constant",
        "The random value that is shown as a token is always the same.",
        Scenario("kleppmann/k6"),
    ),
    plant(
        "redlock-fenced-token-from-nowhere",
        "The token is not the resource's.",
        Scenario("antirez/a2"),
    ),
    plant(
        "redlock-fenced-no-last-look",
        "A grant counts though its token came when the lease was over.",
        Scenario("antirez/a2-late"),
    ),
    plant(
        "redlock-fenced-lowest-counter",
        "Of the nodes' counters the lowest counts.",
        Test(Locks, "redlock_fenced::"),
    ),
    plant(
        "redlock-fenced-without-majority",
        "One node that counted is enough.",
        Test(Locks, "redlock_fenced::"),
    ),
    plant(
        "redlock-fenced-not-written-back",
        "The highest counter is not written back.",
        Scenario("kleppmann/k8-written-back"),
    ),
];
