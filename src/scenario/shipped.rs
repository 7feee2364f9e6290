//! The scenarios that ship, embedded in the program.

/// Embeds `scenarios/NAME.toml` for each name.
macro_rules! embed {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// Name and text of each, sorted by name.
pub const SHIPPED: &[(&str, &str)] = embed! {
    "antirez/a6",
    "jepsen/j2",
    "kleppmann/f1",
    "kleppmann/f1-reads-and-writes",
    "kleppmann/k1",
    "kleppmann/k1-exponential",
    "kleppmann/k1-redlock",
    "kleppmann/k10",
    "kleppmann/k11",
    "kleppmann/k11-delayed",
    "kleppmann/k11-synced",
    "kleppmann/k12",
    "kleppmann/k13",
    "kleppmann/k13-frozen",
    "kleppmann/k13-unchecked",
    "kleppmann/k2",
    "kleppmann/k4",
    "kleppmann/k5",
    "kleppmann/k9",
    "kleppmann/k9-back",
    "redis-docs/r12",
    "redis-docs/r12-everysec",
    "redis-docs/r13",
    "redis-docs/r4",
    "redis-docs/r4-wait",
    "redis-docs/r5",
    "redis-docs/r5-compared",
    "redis-docs/r5-get-del",
    "redisson/crash",
    "redisson/fenced",
    "redisson/fenced-failover",
    "redisson/forgotten",
    "redisson/keyspace",
    "redisson/no-publish",
    "redisson/no-publish-pause",
    "redisson/no-replica",
    "redisson/one-replica-of-two",
    "redisson/reentrant",
    "redisson/resent-acquire",
    "redisson/resent-release",
    "redisson/resent-release-latched",
    "redisson/spin",
    "redisson/spin-pause",
    "redisson/watchdog-partition",
    "redisson/watchdog-pause",
    "redisson/watchdog-retries",
    "redisson/watchdog-retries-too-late",
    "redisson/watchdog-stops",
    "redisson/watchdog-stops-resent",
};
