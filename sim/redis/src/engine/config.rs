//! The parameters of CONFIG, and their meanings (`src/config.c`).
//!
//! Parameters that apply to a fake node have their effect; most others are only stored and shown,
//! for clients that read them.

mod events;
mod parameter;
mod words;

pub use words::unit_of_memory;

use super::state::eviction::EvictionPolicy;
use super::state::fsync::Fsync;
use crate::store::value::{Limits, Listpack};
pub(super) use events::Notify;
use locklab_vecmap::VecMap;
use parameter::Kind::{Events, OutputLimits};
use parameter::PARAMETERS;
pub(super) use parameter::{Parameter, REPLICAOF, find};

/// The values of all parameters.
#[derive(Default)]
pub(super) struct Config {
    /// The parameters that were set.
    values: VecMap<&'static str, Vec<u8>>,
    /// `requirepass`; empty for none.
    pub(super) requirepass: Vec<u8>,
    /// `notify-keyspace-events`.
    pub(super) notify: Notify,
    /// The number of good replicas that a write requires.
    pub(super) min_replicas_to_write: u64,
    /// Whether the server was started with a configuration file.
    pub(super) has_file: bool,
    /// The limits of compact encodings.
    pub(super) limits: Limits,
    max_memory: u64,
    append_only: bool,
    save_points: Vec<SavePoint>,
}

/// A snapshot rule: the seconds after which to take one, and the minimum number of changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct SavePoint {
    pub(super) seconds: u64,
    pub(super) changes: u64,
}

impl Config {
    /// The parameters with their values, sorted by name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static Parameter, Vec<u8>)> {
        PARAMETERS.iter().map(|parameter| {
            let value = match parameter.kind {
                Events => self.notify.shown().into_bytes(),
                _ => self.bytes(parameter.name).to_owned(),
            };
            (parameter, value)
        })
    }

    /// Sets a parameter to a value that [`Parameter::read`] gave.
    pub(super) fn set(&mut self, parameter: &'static Parameter, value: Vec<u8>) {
        let value = match parameter.kind {
            OutputLimits => {
                words::merged_output_limits(self.value(parameter.name), text(&value)).into_bytes()
            }
            _ => value,
        };
        match parameter.name {
            "maxmemory" => self.max_memory = text(&value).parse().unwrap_or(0),
            "appendonly" => self.append_only = value == b"yes",
            "save" => self.save_points = save_points(text(&value)),
            "requirepass" => self.requirepass = value.clone(),
            "notify-keyspace-events" => self.notify = Notify::parse(&value).unwrap_or_default(),
            _ => {}
        }
        self.values.insert(parameter.name, value);
        // Without a limit on their lag, replicas are not counted.
        self.min_replicas_to_write = match self.number("min-replicas-max-lag") {
            0 => 0,
            _ => self.number("min-replicas-to-write"),
        };
        self.limits = self.encoding_limits();
    }

    fn encoding_limits(&self) -> Limits {
        let number = |name| usize::try_from(self.number(name)).unwrap_or(usize::MAX);
        Limits {
            hash: Listpack {
                entries: number("hash-max-listpack-entries"),
                bytes: number("hash-max-listpack-value"),
            },
            zset: Listpack {
                entries: number("zset-max-listpack-entries"),
                bytes: number("zset-max-listpack-value"),
            },
            intset_entries: number("set-max-intset-entries"),
        }
    }

    /// The parameters that were set, sorted by name, in the form of a configuration file.
    pub(super) fn lines(&self) -> Vec<(String, Vec<u8>)> {
        let values = self.values.iter();
        values
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    /// Ticks of the server per second.
    pub(super) fn hz(&self) -> u64 {
        self.number("hz").clamp(1, 500)
    }

    /// The number of databases.
    pub(super) fn databases(&self) -> usize {
        usize::try_from(self.number("databases")).unwrap_or(usize::MAX)
    }

    /// The maximum number of connections.
    pub(super) fn max_clients(&self) -> usize {
        usize::try_from(self.number("maxclients")).unwrap_or(usize::MAX)
    }

    /// Whether there is an append-only file.
    pub(super) fn append_only(&self) -> bool {
        self.append_only
    }

    /// The time that a script may run before other clients get BUSY, in microseconds.
    pub(super) fn busy_threshold_us(&self) -> u64 {
        self.number("busy-reply-threshold").saturating_mul(1000)
    }

    /// When the append-only file is synced.
    pub(super) fn append_fsync(&self) -> Fsync {
        match self.value("appendfsync") {
            "always" => Fsync::Always,
            "no" => Fsync::No,
            _ => Fsync::EverySecond,
        }
    }

    /// When snapshots are taken.
    pub(super) fn save_points(&self) -> impl Iterator<Item = SavePoint> {
        self.save_points.iter().copied()
    }

    /// The maximum size of the backlog, in bytes.
    pub(super) fn backlog_bytes(&self) -> usize {
        usize::try_from(self.number("repl-backlog-size")).unwrap_or(usize::MAX)
    }

    /// How long a replica that needs a snapshot waits for others, in seconds.
    pub(super) fn sync_delay_s(&self) -> u64 {
        match self.value("repl-diskless-sync") {
            "yes" => self.number("repl-diskless-sync-delay"),
            _ => 0,
        }
    }

    /// The timeout of a silent link, in seconds.
    pub(super) fn repl_timeout_s(&self) -> u64 {
        self.number("repl-timeout")
    }

    /// The interval between pings to replicas, in seconds.
    pub(super) fn ping_period_s(&self) -> u64 {
        self.number("repl-ping-replica-period")
    }

    /// The maximum time since the last acknowledgement of a good replica, in seconds.
    pub(super) fn max_lag_s(&self) -> u64 {
        self.number("min-replicas-max-lag")
    }

    /// How long SHUTDOWN waits for replicas, in milliseconds.
    pub(super) fn shutdown_timeout_ms(&self) -> i64 {
        self.number("shutdown-timeout") as i64 * 1000
    }

    /// Whether a replica rejects writes.
    pub(super) fn replica_is_read_only(&self) -> bool {
        self.value("replica-read-only") == "yes"
    }

    /// Whether a replica answers reads after it has lost its master.
    pub(super) fn serves_stale_data(&self) -> bool {
        self.value("replica-serve-stale-data") == "yes"
    }

    /// The address that a replica announces to its master; empty: that of its connection.
    pub(super) fn announced_ip(&self) -> Vec<u8> {
        self.bytes("replica-announce-ip").to_owned()
    }

    /// The port that a replica announces to its master.
    pub(super) fn port(&self) -> String {
        self.shown("port")
    }

    /// The words that follow AUTH when a replica connects to its master; none if it need not
    /// authenticate.
    pub(super) fn master_credentials(&self) -> Vec<Vec<u8>> {
        let password = self.bytes("masterauth");
        if password.is_empty() {
            return Vec::new();
        }
        let words = [self.bytes("masteruser"), password].into_iter();
        let words = words.filter(|word| !word.is_empty());
        words.map(<[u8]>::to_vec).collect()
    }

    /// `tracking-table-max-keys`; 0 for no limit.
    pub(super) fn most_tracked_keys(&self) -> usize {
        usize::try_from(self.number("tracking-table-max-keys")).unwrap_or(usize::MAX)
    }

    /// `maxmemory` in bytes; 0 for no limit.
    pub(super) fn max_memory(&self) -> u64 {
        self.max_memory
    }

    /// `maxmemory-policy`.
    pub(super) fn policy(&self) -> EvictionPolicy {
        EvictionPolicy::named(self.value("maxmemory-policy")).unwrap_or_default()
    }

    /// How many keys are drawn to find one to evict: `maxmemory-samples`.
    pub(super) fn eviction_samples(&self) -> usize {
        usize::try_from(self.number("maxmemory-samples")).unwrap_or(usize::MAX)
    }

    /// A parameter as CONFIG GET shows it.
    pub(super) fn shown(&self, name: &str) -> String {
        self.value(name).to_owned()
    }

    fn number(&self, name: &str) -> u64 {
        self.value(name).parse().unwrap_or(0)
    }

    /// The value of a parameter that is a text.
    fn value(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => text(value),
            None => default(name),
        }
    }

    fn bytes(&self, name: &str) -> &[u8] {
        match self.values.get(name) {
            Some(value) => value,
            None => default(name).as_bytes(),
        }
    }
}

fn default(name: &str) -> &'static str {
    find(name.as_bytes()).map_or("", |parameter| parameter.default)
}

/// A value other than that of a password or a name.
fn text(value: &[u8]) -> &str {
    std::str::from_utf8(value).unwrap_or_default()
}

/// Pairs of seconds and changes: `3600 1 300 100`.
fn save_points(text: &str) -> Vec<SavePoint> {
    let numbers: Vec<u64> = text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect();
    let pairs = numbers.chunks_exact(2);
    let point = |pair: &[u64]| SavePoint {
        seconds: pair[0],
        changes: pair[1],
    };
    pairs.map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::parameter::{Kind, PARAMETERS};

    #[test]
    fn every_default_value_can_be_set() {
        for parameter in PARAMETERS {
            if !matches!(parameter.kind, Kind::Immutable) {
                let read = parameter.read(parameter.default.as_bytes());
                let expected = Ok(parameter.default.as_bytes().to_vec());
                assert_eq!(read, expected, "{}", parameter.name);
            }
        }
    }
}
