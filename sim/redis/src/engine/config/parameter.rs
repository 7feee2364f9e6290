//! The parameters: their names, their initial values, and the values that they may have.

use super::events::Notify;
use super::words;
use crate::engine::state::eviction::EvictionPolicy;
use crate::wire::number::parse_i64;

/// A parameter.
pub(in crate::engine) struct Parameter {
    pub(in crate::engine) name: &'static str,
    alias: Option<&'static str>,
    pub(super) default: &'static str,
    pub(super) kind: Kind,
}

/// The valid values of a parameter.
pub(super) enum Kind {
    /// Any bytes.
    Bytes,
    /// Any bytes up to the first zero, where a text of C ends; they are not interpreted.
    Text,
    /// Cannot be set while the server runs.
    Immutable,
    /// An integer between two bounds, both included; it cannot be set while the server runs.
    AtStart(i64, i64),
    YesNo,
    /// An integer between two bounds, both included.
    Integer(i64, i64),
    /// Bytes, with a unit such as `64mb`, between two bounds, both included.
    Memory(u64, u64),
    /// Bytes, with a unit such as `64mb`, or a percentage of `maxmemory`.
    MemoryOrPercent,
    OneOf(&'static [&'static str]),
    /// Letters that `notify` defines.
    Events,
    /// The rules of `save`.
    SavePoints,
    /// The limits of `client-output-buffer-limit`; those that are not named stay.
    OutputLimits,
}

use Kind::{
    AtStart, Bytes, Events, Immutable, Integer, Memory, MemoryOrPercent, OneOf, OutputLimits,
    SavePoints, Text, YesNo,
};

const INT: i64 = i32::MAX as i64;
const LONG: u64 = i64::MAX as u64;
const INT_MIN: i64 = i32::MIN as i64;

/// Every parameter, sorted by name, with its initial value.
#[rustfmt::skip]
pub(super) static PARAMETERS: &[Parameter] = &[
    parameter("appendfsync", "everysec", OneOf(&["everysec", "always", "no"])),
    parameter("appendonly", "no", YesNo),
    parameter("bind", "127.0.0.1", Text),
    Parameter { alias: Some("lua-time-limit"), ..parameter("busy-reply-threshold", "5000", Integer(0, i64::MAX)) },
    parameter("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", OutputLimits),
    parameter("cluster-enabled", "no", Immutable),
    parameter("databases", "16", AtStart(1, INT)),
    Parameter { alias: Some("hash-max-ziplist-entries"), ..parameter("hash-max-listpack-entries", "512", Integer(0, i64::MAX)) },
    Parameter { alias: Some("hash-max-ziplist-value"), ..parameter("hash-max-listpack-value", "64", Memory(0, LONG)) },
    parameter("hz", "10", Integer(0, INT)),
    parameter("lazyfree-lazy-eviction", "no", YesNo),
    parameter("lazyfree-lazy-expire", "no", YesNo),
    parameter("lazyfree-lazy-user-del", "no", YesNo),
    parameter("list-compress-depth", "0", Integer(0, INT)),
    Parameter { alias: Some("list-max-ziplist-size"), ..parameter("list-max-listpack-size", "-2", Integer(INT_MIN, INT)) },
    parameter("masterauth", "", Bytes),
    parameter("masteruser", "", Text),
    parameter("maxclients", "10000", Integer(1, u32::MAX as i64)),
    parameter("maxmemory", "0", Memory(0, u64::MAX)),
    parameter("maxmemory-clients", "0", MemoryOrPercent),
    parameter("maxmemory-policy", "noeviction", OneOf(&EvictionPolicy::NAMES)),
    parameter("maxmemory-samples", "5", Integer(1, INT)),
    Parameter { alias: Some("min-slaves-max-lag"), ..parameter("min-replicas-max-lag", "10", Integer(0, INT)) },
    Parameter { alias: Some("min-slaves-to-write"), ..parameter("min-replicas-to-write", "0", Integer(0, INT)) },
    parameter("notify-keyspace-events", "", Events),
    parameter("port", "6379", Integer(0, 65_535)),
    parameter("proto-max-bulk-len", "536870912", Memory(1 << 20, LONG)),
    parameter("repl-backlog-size", "1048576", Memory(1, LONG)),
    parameter("repl-backlog-ttl", "3600", Integer(0, i64::MAX)),
    parameter("repl-diskless-sync", "yes", YesNo),
    parameter("repl-diskless-sync-delay", "5", Integer(0, INT)),
    Parameter { alias: Some("repl-ping-slave-period"), ..parameter("repl-ping-replica-period", "10", Integer(1, INT)) },
    parameter("repl-timeout", "60", Integer(1, INT)),
    Parameter { alias: Some("slave-announce-ip"), ..parameter("replica-announce-ip", "", Text) },
    Parameter { alias: Some("slave-priority"), ..parameter("replica-priority", "100", Integer(0, INT)) },
    Parameter { alias: Some("slave-read-only"), ..parameter("replica-read-only", "yes", YesNo) },
    Parameter { alias: Some("slave-serve-stale-data"), ..parameter("replica-serve-stale-data", "yes", YesNo) },
    Parameter { alias: Some("slaveof"), ..parameter(REPLICAOF, "", Immutable) },
    parameter("requirepass", "", Bytes),
    parameter("save", "", SavePoints),
    parameter("set-max-intset-entries", "512", Integer(0, i64::MAX)),
    parameter("shutdown-timeout", "10", Integer(0, INT)),
    parameter("tcp-keepalive", "300", Integer(0, INT)),
    parameter("timeout", "0", Integer(0, INT)),
    parameter("tracking-table-max-keys", "1000000", Integer(0, i64::MAX)),
    Parameter { alias: Some("zset-max-ziplist-entries"), ..parameter("zset-max-listpack-entries", "128", Integer(0, i64::MAX)) },
    Parameter { alias: Some("zset-max-ziplist-value"), ..parameter("zset-max-listpack-value", "64", Memory(0, LONG)) },
];

/// The parameter whose value the replication has: the master's host and port.
pub(in crate::engine) const REPLICAOF: &str = "replicaof";

const fn parameter(name: &'static str, default: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        alias: None,
        default,
        kind,
    }
}

/// Finds a parameter by its current or former name, ignoring case.
pub(in crate::engine) fn find(name: &[u8]) -> Option<&'static Parameter> {
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    PARAMETERS
        .iter()
        .find(|parameter| is(parameter.name) || parameter.alias.is_some_and(is))
}

impl Parameter {
    /// Its names, including the former one.
    pub(in crate::engine) fn names(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.name), self.alias].into_iter().flatten()
    }

    /// Whether it cannot be changed while the server runs.
    pub(in crate::engine) fn is_immutable(&self) -> bool {
        matches!(self.kind, Immutable | AtStart(..))
    }

    /// The error of a value other than the current one, if the node's driver has to listen elsewhere for it.
    pub(in crate::engine) fn is_of_the_driver(&self) -> Option<&'static str> {
        match self.name {
            "bind" => Some("Failed to bind to specified addresses."),
            "port" => Some("Unable to listen on this port. Check server logs."),
            _ => None,
        }
    }

    /// The value in the form that CONFIG GET shows.
    ///
    /// # Errors
    ///
    /// The reason why the value is invalid.
    pub(in crate::engine) fn read(&self, value: &[u8]) -> Result<Vec<u8>, String> {
        match self.kind {
            Bytes => Ok(value.to_vec()),
            Text => {
                let end = value.iter().position(|byte| *byte == 0);
                Ok(value[..end.unwrap_or(value.len())].to_vec())
            }
            _ => self.read_text(value).map(String::into_bytes),
        }
    }

    fn read_text(&self, value: &[u8]) -> Result<String, String> {
        let text = String::from_utf8_lossy(value).into_owned();
        match self.kind {
            Bytes | Text => Ok(text),
            Immutable => Err("can't set immutable config".to_owned()),
            YesNo => match text.to_ascii_lowercase().as_str() {
                "yes" | "no" => Ok(text.to_ascii_lowercase()),
                _ => Err("argument must be 'yes' or 'no'".to_owned()),
            },
            Integer(low, high) | AtStart(low, high) => match parse_i64(value) {
                None => Err("argument couldn't be parsed into an integer".to_owned()),
                Some(number) if (low..=high).contains(&number) => Ok(self.tuned(number)),
                Some(_) => Err(format!(
                    "argument must be between {low} and {high} inclusive"
                )),
            },
            Memory(low, high) => match words::bytes(&text) {
                None => Err("argument must be a memory value".to_owned()),
                Some(bytes) if (low..=high).contains(&bytes) => Ok(bytes.to_string()),
                Some(_) => Err(format!(
                    "argument must be between {low} and {high} inclusive"
                )),
            },
            MemoryOrPercent => words::bytes_or_percent(&text),
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
            SavePoints => words::save(&text),
            OutputLimits => words::output_limits(&text),
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
