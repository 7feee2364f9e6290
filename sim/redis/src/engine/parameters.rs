//! The initial parameters of a node: a configuration file, built from typed values or parsed from
//! text.

use std::error::Error;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::state::eviction::EvictionPolicy;
use super::state::fsync::Fsync;

/// A node's configuration file. Parameters that it does not set have the defaults of Redis,
/// except for `save`: a node takes no snapshots by default.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use locklab_redis::{Fsync, Parameters, Persistence};
///
/// let typed = Parameters::default()
///     .max_clients(NonZeroU32::new(100).expect("not zero"))
///     .persistence(&Persistence::AppendOnly(Fsync::Always));
/// let text = [("maxclients", "100"), ("appendonly", "yes"), ("appendfsync", "always")];
/// assert_eq!(Parameters::new(text), Ok(typed));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters(Vec<(String, Vec<u8>)>);

/// The data of a node that survives its process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Persistence {
    /// Nothing.
    #[default]
    Nothing,
    /// Every write: `appendonly yes`, with this `appendfsync`.
    AppendOnly(Fsync),
    /// The data set as of the last snapshot: `save`. A snapshot is taken when any of these rules
    /// applies, and at SHUTDOWN.
    Snapshots(Vec<SnapshotRule>),
}

/// When to take a snapshot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SnapshotRule {
    /// The minimum time since the last snapshot, in whole seconds.
    pub after: Duration,
    /// The minimum number of changes since then.
    pub changes: NonZeroU64,
}

/// An invalid parameter, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterError(String);

impl Parameters {
    /// `port`: the port that the node reports; its driver does the listening.
    pub fn port(self, port: u16) -> Self {
        self.with("port", port)
    }

    /// `maxmemory` in bytes, and `maxmemory-policy`: what happens when keys take more.
    pub fn max_memory(self, bytes: NonZeroU64, policy: EvictionPolicy) -> Self {
        self.with("maxmemory", bytes)
            .with("maxmemory-policy", policy.name())
    }

    /// `maxclients`: the maximum number of connections, for a driver that limits them.
    pub fn max_clients(self, max_clients: NonZeroU32) -> Self {
        self.with("maxclients", max_clients)
    }

    /// `appendonly` with `appendfsync`, or `save`.
    pub fn persistence(self, persistence: &Persistence) -> Self {
        match persistence {
            Persistence::Nothing => self,
            Persistence::AppendOnly(fsync) => self
                .with("appendonly", "yes")
                .with("appendfsync", fsync.name()),
            Persistence::Snapshots(rules) => {
                let rules = rules.iter().map(SnapshotRule::to_string);
                self.with("save", rules.collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// `replicaof`: the node starts as a replica of this one.
    pub fn replica_of(self, host: &str, port: u16) -> Self {
        self.with("replicaof", format_args!("{host} {port}"))
    }

    /// `replica-announce-ip`: the address that a replica announces.
    pub fn announce_host(self, host: &str) -> Self {
        self.with("replica-announce-ip", host)
    }

    /// `min-replicas-to-write`: with fewer good replicas a master rejects writes.
    pub fn min_replicas_to_write(self, count: u32) -> Self {
        self.with("min-replicas-to-write", count.min(i32::MAX as u32))
    }

    /// `repl-diskless-sync-delay`: how long a replica that needs the whole data set waits for
    /// others that need it too. Redis takes whole seconds, at most 2³¹ - 1: a fraction is rounded
    /// up.
    pub fn sync_delay(self, delay: Duration) -> Self {
        let seconds = delay
            .as_secs()
            .saturating_add(u64::from(delay.subsec_nanos() > 0));
        self.with("repl-diskless-sync-delay", seconds.min(i32::MAX as u64))
    }

    /// Names and values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The parameters that the node itself reports as set.
    pub(super) fn of_node(parameters: Vec<(String, Vec<u8>)>) -> Self {
        Parameters(parameters)
    }

    pub(super) fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.0
            .push((name.to_owned(), value.to_string().into_bytes()));
        self
    }
}

impl SnapshotRule {
    /// The default rules of Redis: `save 3600 1 300 100 60 10000`.
    pub fn of_redis() -> Vec<SnapshotRule> {
        let rule = |(seconds, changes)| SnapshotRule {
            after: Duration::from_secs(seconds),
            changes,
        };
        let most = [1, 100, 10_000].into_iter().filter_map(NonZeroU64::new);
        [3600, 300, 60].into_iter().zip(most).map(rule).collect()
    }
}

impl fmt::Display for SnapshotRule {
    /// The value of `save`. Redis takes at least a second, and at most 2³¹ - 1 changes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most_changes = i32::MAX as u64;
        let changes = self.changes.get().min(most_changes);
        write!(f, "{} {changes}", self.after.as_secs().max(1))
    }
}

impl ParameterError {
    pub(super) fn new(name: &str, value: &[u8], why: impl fmt::Display) -> Self {
        let value = String::from_utf8_lossy(value);
        ParameterError(format!("{name} {value}: {why}"))
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Typed values equal those of a configuration file, and a node accepts them.
    #[track_caller]
    fn check(typed: Parameters, text: &[(&str, &str)]) {
        assert_eq!(Parameters::new(text.iter().copied()), Ok(typed));
    }

    #[test]
    fn typed_parameters_equal_parsed_ones() {
        let none = Parameters::default;
        check(none().port(7001), &[("port", "7001")]);
        check(
            none().max_clients(NonZeroU32::MAX),
            &[("maxclients", "4294967295")],
        );
        for (name, policy) in EvictionPolicy::NAMED {
            check(
                none().max_memory(NonZeroU64::MAX, policy),
                &[
                    ("maxmemory", "18446744073709551615"),
                    ("maxmemory-policy", name),
                ],
            );
        }
        check(none().replica_of("::1", 6379), &[("replicaof", "::1 6379")]);
        check(none().announce_host("n1"), &[("replica-announce-ip", "n1")]);
        check(
            none().min_replicas_to_write(2),
            &[("min-replicas-to-write", "2")],
        );
        for (delay, seconds) in [
            (Duration::ZERO, "0"),
            (Duration::from_millis(1), "1"),
            (Duration::MAX, "2147483647"),
        ] {
            let expected = [("repl-diskless-sync-delay", seconds)];
            check(none().sync_delay(delay), &expected);
        }
    }

    #[test]
    fn each_persistence_mode_equals_its_configuration_file() {
        let with = |persistence| Parameters::default().persistence(&persistence);
        check(with(Persistence::Nothing), &[]);
        for (fsync, name) in [
            (Fsync::Always, "always"),
            (Fsync::EverySecond, "everysec"),
            (Fsync::No, "no"),
        ] {
            let expected = [("appendonly", "yes"), ("appendfsync", name)];
            check(with(Persistence::AppendOnly(fsync)), &expected);
        }
        let rules = SnapshotRule::of_redis();
        let expected = [("save", "3600 1 300 100 60 10000")];
        check(with(Persistence::Snapshots(rules)), &expected);
    }

    #[test]
    fn rejected_parameter_is_named_in_the_error() {
        for (name, value, expected) in [
            ("prot", "1", "prot 1: there is no parameter of this name"),
            (
                "appendonly",
                "maybe",
                "appendonly maybe: argument must be 'yes' or 'no'",
            ),
            (
                "databases",
                "0",
                "databases 0: argument must be between 1 and 2147483647 inclusive",
            ),
            (
                "databases",
                "x",
                "databases x: argument couldn't be parsed into an integer",
            ),
            (
                "replicaof",
                "n1",
                "replicaof n1: give a host and a port, as in `replicaof 127.0.0.1 6379`",
            ),
        ] {
            let error = Parameters::new([(name, value)]).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
