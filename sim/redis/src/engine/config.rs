//! The parameters of CONFIG, and their meanings (`src/config.c`).
//!
//! Parameters that apply to a fake node have their effect; most others are only stored and shown,
//! for clients that read them.

use std::collections::BTreeMap;

use super::notify::Notify;
use super::persist::Fsync;
use crate::wire::number::parse_i64;

/// The values of all parameters.
#[derive(Default)]
pub(super) struct Config {
    /// The parameters that were set.
    values: BTreeMap<&'static str, String>,
    /// `requirepass`; empty for none.
    pub(super) requirepass: Vec<u8>,
    /// `notify-keyspace-events`.
    pub(super) notify: Notify,
    /// The number of good replicas that a write requires.
    pub(super) min_replicas_to_write: u64,
    /// Whether the server was started with a configuration file.
    pub(super) has_file: bool,
    append_only: bool,
    save_points: Vec<SavePoint>,
}

/// A snapshot rule: the seconds after which to take one, and the minimum number of changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct SavePoint {
    pub(super) seconds: u64,
    pub(super) changes: u64,
}

/// A parameter.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    alias: Option<&'static str>,
    default: &'static str,
    kind: Kind,
}

/// The valid values of a parameter.
enum Kind {
    /// Anything; it is not interpreted.
    Text,
    /// Cannot be set while the server runs.
    Immutable,
    YesNo,
    /// An integer between two bounds, both included.
    Integer(i64, i64),
    /// Bytes, with a unit such as `64mb`.
    Memory,
    OneOf(&'static [&'static str]),
    /// Letters that `notify` defines.
    Events,
}

use Kind::{Events, Immutable, Integer, Memory, OneOf, Text, YesNo};

const INT: i64 = i32::MAX as i64;
const POLICIES: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];

/// Every parameter, sorted by name, with its initial value.
#[rustfmt::skip]
static PARAMETERS: &[Parameter] = &[
    parameter("appendfsync", "everysec", OneOf(&["everysec", "always", "no"])),
    parameter("appendonly", "no", YesNo),
    parameter("bind", "127.0.0.1", Text),
    Parameter { alias: Some("lua-time-limit"), ..parameter("busy-reply-threshold", "5000", Integer(0, i64::MAX)) },
    parameter("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", Text),
    parameter("cluster-enabled", "no", Immutable),
    parameter("databases", "1", Immutable),
    parameter("hz", "10", Integer(0, INT)),
    parameter("lazyfree-lazy-expire", "no", YesNo),
    parameter("lazyfree-lazy-user-del", "no", YesNo),
    parameter("maxclients", "10000", Integer(1, u32::MAX as i64)),
    parameter("maxmemory", "0", Memory),
    parameter("maxmemory-policy", "noeviction", OneOf(POLICIES)),
    Parameter { alias: Some("min-slaves-max-lag"), ..parameter("min-replicas-max-lag", "10", Integer(0, INT)) },
    Parameter { alias: Some("min-slaves-to-write"), ..parameter("min-replicas-to-write", "0", Integer(0, INT)) },
    parameter("notify-keyspace-events", "", Events),
    parameter("port", "6379", Integer(0, 65_535)),
    parameter("proto-max-bulk-len", "536870912", Memory),
    parameter("repl-backlog-size", "1048576", Memory),
    parameter("repl-backlog-ttl", "3600", Integer(0, i64::MAX)),
    parameter("repl-diskless-sync", "yes", YesNo),
    parameter("repl-diskless-sync-delay", "5", Integer(0, INT)),
    Parameter { alias: Some("repl-ping-slave-period"), ..parameter("repl-ping-replica-period", "10", Integer(1, INT)) },
    parameter("repl-timeout", "60", Integer(1, INT)),
    Parameter { alias: Some("slave-announce-ip"), ..parameter("replica-announce-ip", "", Text) },
    Parameter { alias: Some("slave-priority"), ..parameter("replica-priority", "100", Integer(0, INT)) },
    Parameter { alias: Some("slave-read-only"), ..parameter("replica-read-only", "yes", YesNo) },
    Parameter { alias: Some("slave-serve-stale-data"), ..parameter("replica-serve-stale-data", "yes", YesNo) },
    parameter("requirepass", "", Text),
    parameter("save", "", Text),
    parameter("shutdown-timeout", "10", Integer(0, INT)),
    parameter("tcp-keepalive", "300", Integer(0, INT)),
    parameter("timeout", "0", Integer(0, INT)),
    parameter("tracking-table-max-keys", "1000000", Integer(0, i64::MAX)),
];

const fn parameter(name: &'static str, default: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        alias: None,
        default,
        kind,
    }
}

/// Finds a parameter by its current or former name, ignoring case.
pub(super) fn find(name: &[u8]) -> Option<&'static Parameter> {
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    PARAMETERS
        .iter()
        .find(|parameter| is(parameter.name) || parameter.alias.is_some_and(is))
}

impl Parameter {
    /// Its names, including the former one.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.name), self.alias].into_iter().flatten()
    }

    /// Whether it cannot be changed while the server runs.
    pub(super) fn is_immutable(&self) -> bool {
        matches!(self.kind, Immutable)
    }

    /// The value in the form that CONFIG GET shows.
    ///
    /// # Errors
    ///
    /// The reason why the value is invalid.
    pub(super) fn read(&self, value: &[u8]) -> Result<String, String> {
        let text = String::from_utf8_lossy(value).into_owned();
        match self.kind {
            Text => Ok(text),
            Immutable => Err("can't set immutable config".to_owned()),
            YesNo => match text.to_ascii_lowercase().as_str() {
                "yes" | "no" => Ok(text.to_ascii_lowercase()),
                _ => Err("argument must be 'yes' or 'no'".to_owned()),
            },
            Integer(low, high) => match parse_i64(value) {
                None => Err("argument couldn't be parsed into an integer".to_owned()),
                Some(number) if (low..=high).contains(&number) => Ok(self.tuned(number)),
                Some(_) => Err(format!(
                    "argument must be between {low} and {high} inclusive"
                )),
            },
            Memory => match memory_bytes(&text) {
                Some(bytes) => Ok(bytes.to_string()),
                None => Err("argument must be a memory value".to_owned()),
            },
            OneOf(names) => match names.iter().find(|name| name.eq_ignore_ascii_case(&text)) {
                Some(name) => Ok((*name).to_owned()),
                None => Err(format!(
                    "argument(s) must be one of the following: {}",
                    names.join(", ")
                )),
            },
            Events => match Notify::parse(value) {
                Some(_) => Ok(text),
                None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned()),
            },
        }
    }

    /// `updateHZ`: limited to between 1 and 500.
    fn tuned(&self, number: i64) -> String {
        match self.name {
            "hz" => number.clamp(1, 500).to_string(),
            _ => number.to_string(),
        }
    }
}

impl Config {
    /// The parameters with their values, sorted by name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static Parameter, String)> {
        PARAMETERS.iter().map(|parameter| {
            let value = match parameter.kind {
                Events => self.notify.shown(),
                _ => self.value(parameter.name).to_owned(),
            };
            (parameter, value)
        })
    }

    /// Sets a parameter to a value that [`Parameter::read`] gave.
    pub(super) fn set(&mut self, parameter: &'static Parameter, value: String) {
        match parameter.name {
            "appendonly" => self.append_only = value == "yes",
            "save" => self.save_points = save_points(&value),
            "requirepass" => self.requirepass = value.clone().into_bytes(),
            "notify-keyspace-events" => {
                self.notify = Notify::parse(value.as_bytes()).unwrap_or_default();
            }
            _ => {}
        }
        self.values.insert(parameter.name, value);
        // Without a limit on their lag, replicas are not counted.
        self.min_replicas_to_write = match self.number("min-replicas-max-lag") {
            0 => 0,
            _ => self.number("min-replicas-to-write"),
        };
    }

    /// The parameters that were set, sorted by name, in the form of a configuration file.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let values = self.values.iter();
        values
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    /// Ticks of the server per second.
    pub(super) fn hz(&self) -> u64 {
        self.number("hz").clamp(1, 500)
    }

    /// The maximum number of connections.
    pub(super) fn max_clients(&self) -> usize {
        usize::try_from(self.number("maxclients")).unwrap_or(usize::MAX)
    }

    /// Whether there is an append-only file.
    pub(super) fn append_only(&self) -> bool {
        self.append_only
    }

    /// The time that a script may run before other clients get BUSY, in milliseconds.
    pub(super) fn busy_threshold_ms(&self) -> u64 {
        self.number("busy-reply-threshold")
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
    pub(super) fn announced_ip(&self) -> String {
        self.shown("replica-announce-ip")
    }

    /// The port that a replica announces to its master.
    pub(super) fn port(&self) -> String {
        self.shown("port")
    }

    /// A parameter as CONFIG GET shows it.
    pub(super) fn shown(&self, name: &str) -> String {
        self.value(name).to_owned()
    }

    fn number(&self, name: &str) -> u64 {
        self.value(name).parse().unwrap_or(0)
    }

    fn value(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => value,
            None => find(name.as_bytes()).map_or("", |parameter| parameter.default),
        }
    }
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

/// `memtoull` of `src/util.c`.
fn memory_bytes(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_may_be_set() {
        for parameter in PARAMETERS {
            if !matches!(parameter.kind, Immutable) {
                let read = parameter.read(parameter.default.as_bytes());
                assert_eq!(read.as_deref(), Ok(parameter.default), "{}", parameter.name);
            }
        }
    }
}
