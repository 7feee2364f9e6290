//! Mistakes in the checks.

use super::Binary::Check;
use super::Catcher::Test;
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    plant(
        "overlap-names-the-shorter",
        "Of several beliefs that are overlapped the shortest is named.",
        Test(Check, "belief::"),
    ),
    plant(
        "readers-exclude-readers",
        "Two readers violate mutual exclusion.",
        Test(Check, "belief::"),
    ),
    plant(
        "overlap-counts-touching",
        "A belief that ends as another begins overlaps it.",
        Test(Check, "belief::"),
    ),
    plant(
        "lease-ignores-the-deadline",
        "Belief goes on after the deadline.",
        Test(Check, "lease::"),
    ),
    plant(
        "belief-ends-with-the-lease",
        "Belief without end ends with the lease.",
        Test(Check, "belief::"),
    ),
    plant(
        "stale-write-believes-no-token",
        "Tokens do not tell which grant was later.",
        Test(Check, "stale_write::"),
    ),
    plant(
        "stale-write-has-no-doubt",
        "Grants whose order nobody knows are in the order of telling.",
        Test(Check, "stale_write::"),
    ),
    plant(
        "stale-write-ignores-the-order",
        "No grant is newer than another.",
        Test(Check, "stale_write::"),
    ),
    plant(
        "lost-update-forgets-the-version",
        "The version that was written is not remembered.",
        Test(Check, "lost_update::"),
    ),
    plant(
        "token-regression-counts-equal",
        "An equal token goes backwards.",
        Test(Check, "token_regression::"),
    ),
    plant(
        "foreign-release-of-whoever-asked",
        "It does not matter when the other asked.",
        Test(Check, "foreign_release::"),
    ),
    plant(
        "foreign-release-on-many-nodes",
        "Releases on many nodes are judged as on one.",
        Test(Check, "foreign_release::"),
    ),
    plant(
        "deadlock-bound-doubled",
        "A wait may last twice its bound.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "deadlock-servers-excuse-nobody",
        "A dead server is no excuse.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "availability-excused-by-servers",
        "A dead server excuses a lock that is not available.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "deadlock-own-host-excuses-nobody",
        "A client that stands still is in vain.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "deadlock-anything-excuses-everybody",
        "A fault of another host is an excuse.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "deadlock-links-excuse-everybody",
        "A cut link excuses whom it does not concern.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "unsupported-is-ignored",
        "What a lock cannot do is taken for what it did.",
        Test(Check, "conclusive::"),
    ),
    plant(
        "fifo-passes-nobody",
        "Nobody is ever passed.",
        Test(Check, "fifo::"),
    ),
    plant(
        "fifo-passes-who-is-in-a-call",
        "Who is in a call counts as refused before it returns.",
        Test(Check, "fifo::"),
    ),
    plant(
        "acknowledged-lost-finds-nothing",
        "No add is ever lost.",
        Test(Check, "acknowledged_lost::"),
    ),
    plant(
        "recovery-is-never-violated",
        "Every lock recovers.",
        Test(Check, "recovery::"),
    ),
    plant(
        "deadlock-silences-are-apart",
        "Two silences in a row count as two.",
        Test(Check, "deadlock::"),
    ),
    plant(
        "contention-is-assumed",
        "A run without contention proves something.",
        Test(Check, "conclusive::"),
    ),
    plant(
        "contention-need-not-matter",
        "Contention counts wherever it was.",
        Test(Check, "conclusive::"),
    ),
    plant(
        "missed-faults-are-ignored",
        "A run whose fault never came proves something.",
        Test(Check, "conclusive::"),
    ),
    plant(
        "doubt-is-ignored",
        "What holds in a doubtful run holds.",
        Test(Check, "conclusive::"),
    ),
    plant(
        "progress-is-never-violated",
        "A resource may refuse everybody.",
        Test(Check, "progress::"),
    ),
    plant(
        "progress-ignores-who-followed",
        "Who was overtaken was refused wrongly.",
        Test(Check, "progress::"),
    ),
];
