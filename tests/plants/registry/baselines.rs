//! Mistakes in the baseline locks.

use super::Binary::Locks;
use super::Catcher::{Scenario, Test};
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    plant(
        "cas-ignores-version",
        "An update that found another version counts.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "cas-ignores-owner",
        "A row that has an owner is taken.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "unique-ignores-index",
        "An insert that the index refused counts.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-watches-the-holder",
        "Everybody watches the lowest node, and not the next lower one.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-need-not-be-lowest",
        "A node is enough, whatever its place.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-session-unchecked",
        "A client whose session ended while it waited has the lock.",
        Test(Locks, "baselines::who_is_not"),
    ),
    plant(
        "consensus-token-constant",
        "Every grant has the same fencing token.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-pings-once",
        "The session is kept alive by one ping.",
        Scenario("kleppmann/k18"),
    ),
];
