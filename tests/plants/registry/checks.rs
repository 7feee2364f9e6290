//! Mistakes in the checks.

use super::Binary::Lib;
use super::Catcher::Test;
use super::{Plant, plant};

/// The list.
pub const PLANTS: &[Plant] = &[
    plant(
        "overlap-names-the-shorter",
        "Of several beliefs that are overlapped the shortest is named.",
        Test(Lib, "check::belief"),
    ),
    plant(
        "readers-exclude-readers",
        "Two readers violate mutual exclusion.",
        Test(Lib, "check::belief"),
    ),
    plant(
        "overlap-counts-touching",
        "A belief that ends as another begins overlaps it.",
        Test(Lib, "check::belief"),
    ),
    plant(
        "lease-ignores-the-deadline",
        "Belief goes on after the deadline.",
        Test(Lib, "check::lease"),
    ),
    plant(
        "belief-ends-with-the-lease",
        "Belief without end ends with the lease.",
        Test(Lib, "check::belief"),
    ),
    plant(
        "stale-write-believes-no-token",
        "Tokens do not tell which grant was later.",
        Test(Lib, "check::stale_write"),
    ),
    plant(
        "stale-write-has-no-doubt",
        "Grants whose order nobody knows are in the order of telling.",
        Test(Lib, "check::stale_write"),
    ),
    plant(
        "stale-write-ignores-the-order",
        "No grant is newer than another.",
        Test(Lib, "check::stale_write"),
    ),
    plant(
        "lost-update-forgets-the-version",
        "The version that was written is not remembered.",
        Test(Lib, "check::lost_update"),
    ),
    plant(
        "token-regression-counts-equal",
        "An equal token goes backwards.",
        Test(Lib, "check::token_regression"),
    ),
    plant(
        "foreign-release-of-whoever-asked",
        "It does not matter when the other asked.",
        Test(Lib, "check::foreign_release"),
    ),
    plant(
        "foreign-release-on-many-nodes",
        "Releases on many nodes are judged as on one.",
        Test(Lib, "check::foreign_release"),
    ),
    plant(
        "deadlock-bound-doubled",
        "A wait may last twice its bound.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "deadlock-servers-excuse-nobody",
        "A dead server is no excuse.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "availability-excused-by-servers",
        "A dead server excuses a lock that is not available.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "deadlock-own-host-excuses-nobody",
        "A client that stands still is in vain.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "deadlock-anything-excuses-everybody",
        "A fault of another host is an excuse.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "deadlock-links-excuse-everybody",
        "A cut link excuses whom it does not concern.",
        Test(Lib, "check::deadlock"),
    ),
    plant(
        "fifo-passes-nobody",
        "Nobody is ever passed.",
        Test(Lib, "check::fifo"),
    ),
    plant(
        "fifo-passes-who-is-in-a-call",
        "Who is in a call counts as refused before it returns.",
        Test(Lib, "check::fifo"),
    ),
    plant(
        "acknowledged-lost-finds-nothing",
        "No add is ever lost.",
        Test(Lib, "check::acknowledged_lost"),
    ),
    plant(
        "contention-is-assumed",
        "A run without contention proves something.",
        Test(Lib, "check::conclusive"),
    ),
    plant(
        "contention-need-not-matter",
        "Contention counts wherever it was.",
        Test(Lib, "check::conclusive"),
    ),
    plant(
        "missed-faults-are-ignored",
        "A run whose fault never came proves something.",
        Test(Lib, "check::conclusive"),
    ),
    plant(
        "doubt-is-ignored",
        "What holds in a doubtful run holds.",
        Test(Lib, "check::conclusive"),
    ),
    plant(
        "progress-is-never-violated",
        "A resource may refuse everybody.",
        Test(Lib, "check::progress"),
    ),
    plant(
        "progress-ignores-who-followed",
        "Who was overtaken was refused wrongly.",
        Test(Lib, "check::progress"),
    ),
];
