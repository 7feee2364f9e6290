//! Mistakes in what brings a real run about. Their catchers start real servers, and take too long for
//! each commit.

use super::Binary::Agreement;
use super::Catcher::Test;
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    plant(
        "real-links-are-not-slow",
        "The proxy delays nothing.",
        Test(Agreement, "kleppmann_k4"),
    ),
    plant(
        "real-partitions-let-all-through",
        "The proxy cuts nothing.",
        Test(Agreement, "jepsen_j2"),
    ),
    plant(
        "real-clocks-do-not-step",
        "The clock of a real host is never set.",
        Test(Agreement, "kleppmann_k9"),
    ),
    plant(
        "real-power-loss-loses-nothing",
        "A server's file keeps what was not synced.",
        Test(Agreement, "kleppmann_k11"),
    ),
    plant(
        "real-restarts-wait-by-true-time",
        "A delayed restart does not go by the clock of day.",
        Test(Agreement, "kleppmann_k12"),
    ),
    plant(
        "real-timers-before-sockets",
        "A client that was stopped does not look at its sockets first.",
        Test(Agreement, "kleppmann_k13_unchecked"),
    ),
    plant(
        "real-memory-has-no-limit",
        "A real server is not told its maxmemory.",
        Test(Agreement, "memory_evicted"),
    ),
];
