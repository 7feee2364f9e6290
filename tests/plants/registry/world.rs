//! Mistakes in the resource, the faults and the world.

use super::Binary::{Injectors, Lib, Locks, Paper, World};
use super::Catcher::{Scenario, Test};
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    // The resource.
    plant(
        "resource-refuses-an-equal-token",
        "The second access of the same holder is refused.",
        Scenario("kleppmann/f1-reads-and-writes"),
    ),
    plant(
        "resource-admits-everybody",
        "A lower token is admitted.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-forgets-the-highest-token",
        "No token is remembered.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-compares-no-reads",
        "Reads are not compared.",
        Scenario("kleppmann/f1-reads-and-writes"),
    ),
    plant(
        "resource-keeps-the-first-token",
        "A read does not replace the token that an earlier one left.",
        Scenario("antirez/a3"),
    ),
    plant(
        "resource-compares-no-writes",
        "Writes are not compared.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-issues-one-token",
        "The resource hands out one token again and again.",
        Test(Locks, "redlock_fenced::"),
    ),
    // The executor of schedules, and its two injectors.
    plant(
        "one-finished-host-spares-all",
        "A fault strikes none of its hosts if one of them has finished.",
        Test(Injectors, "finished"),
    ),
    plant(
        "missed-faults-go-unrecorded",
        "The history does not say that a fault never took effect.",
        Test(Injectors, "failpoints"),
    ),
    plant(
        "dead-hosts-are-struck-in-the-world",
        "The world takes a process that was killed for one that runs.",
        Test(Injectors, "down"),
    ),
    plant(
        "dead-processes-are-struck-on-redis",
        "A process that was killed is taken for one that runs.",
        Test(Injectors, "down"),
    ),
    plant(
        "other-writes-of-one-key",
        "Other writes that should fill a node's memory all go to one key.",
        Scenario("memory/evicted"),
    ),
    // Faults and the world.
    plant(
        "campaign-never-heals",
        "A campaign's faults go on to the end of the run.",
        Test(Lib, "scenario::campaign::"),
    ),
    plant(
        "power-loss-loses-nothing",
        "What was not synced survives a loss of power.",
        Scenario("kleppmann/k11"),
    ),
    plant(
        "sync-does-nothing",
        "What was synced is lost with the rest.",
        Scenario("kleppmann/k11-synced"),
    ),
    plant(
        "pause-does-not-pause",
        "A pause does nothing.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "suspend-lets-the-clock-run",
        "The monotonic clock of a suspended machine runs.",
        Scenario("kleppmann/k13-frozen"),
    ),
    plant(
        "kill-closes-no-sockets",
        "The kernel of a killed process closes nothing.",
        Test(World, "processes::"),
    ),
    plant(
        "crash-says-goodbye",
        "A host without power still ends its connections.",
        Test(World, "processes::"),
    ),
    plant(
        "nobody-restarts",
        "What has crashed stays down.",
        Scenario("kleppmann/k11"),
    ),
    plant(
        "failover-is-not-ordered",
        "The operator does nothing.",
        Scenario("redis-docs/r4-failover"),
    ),
    plant(
        "two-ways-are-one",
        "What concerns both directions concerns one.",
        Test(World, "links::what_a_partition"),
    ),
    plant(
        "cut-lets-through",
        "A partition lets through.",
        Scenario("redis-docs/r4"),
    ),
    plant(
        "link-never-heals",
        "A link's fault never ends.",
        Scenario("redisson/watchdog-retries"),
    ),
    plant(
        "slow-link-adds-nothing",
        "A slow link is as fast as the others.",
        Scenario("kleppmann/k4"),
    ),
    plant(
        "loss-loses-nothing",
        "A lossy link loses nothing.",
        Test(World, "links::"),
    ),
    plant(
        "clock-step-with-the-wrong-sign",
        "A clock is stepped the other way.",
        Scenario("kleppmann/k9-back"),
    ),
    plant(
        "clock-step-in-whole-seconds",
        "A step is rounded to seconds.",
        Test(Lib, "fault::expand"),
    ),
    plant(
        "clock-rate-is-ignored",
        "Clocks that run wrong run right.",
        Scenario("antirez/a6"),
    ),
    plant(
        "node-goes-by-the-wall-clock",
        "A node that is to expire keys by the monotonic clock goes by the other.",
        Scenario("antirez/a13-k9"),
    ),
    plant(
        "faults-a-tenth-too-short",
        "Every fault is over a tenth too soon.",
        Test(Paper, "k1_with_exponential_pauses"),
    ),
];
