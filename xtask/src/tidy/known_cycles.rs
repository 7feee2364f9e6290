//! The cycles of files that exist, each with the reason why. The list can only become shorter.

/// Where this list is.
pub const LIST: &str = "xtask/src/tidy/known_cycles.rs";

/// A cycle of files that is accepted for now.
pub struct Known {
    /// All files of the cycle; see [`cycles`](super::cycles) for a module's own file.
    pub files: &'static [&'static str],
    /// Why it exists.
    pub why: &'static str,
}

pub const KNOWN: &[Known] = &[
    Known {
        files: &[
            "sim/redis/src/sentinel/command.rs",
            "sim/redis/src/sentinel/config.rs",
            "sim/redis/src/sentinel/core.rs",
            "sim/redis/src/sentinel/failover.rs",
            "sim/redis/src/sentinel/file.rs",
            "sim/redis/src/sentinel/hello.rs",
            "sim/redis/src/sentinel/instance.rs",
            "sim/redis/src/sentinel/link.rs",
            "sim/redis/src/sentinel/listing.rs",
            "sim/redis/src/sentinel/master.rs",
            "sim/redis/src/sentinel/server.rs",
        ],
        why: "a sentinel's state and its behaviour are in the same files",
    },
];
