//! The environment of the clients: the nodes, the network, the clocks.

use std::time::Duration;

use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use locklab_values::dist::Dist;
use locklab_values::units::ns_from_fractional_ms;

/// The configuration of every Redis node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeSpec {
    /// The data that survives the end of the node's process.
    pub persistence: Persistence,
    /// A process that is restarted waits for this many milliseconds of its host's wall clock
    /// before it serves clients.
    pub restart_delay_ms: u64,
    /// A master accepts writes only if it has heard from this many replicas within ten seconds.
    pub min_replicas_to_write: u32,
    /// How many connections the node accepts at a time; further ones are refused. Redis's own
    /// limit is 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxclients: Option<u32>,
    /// Other clients write to the node this often, in milliseconds, to keys that are not locks;
    /// absent: no other writes. Replicas are not written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_writes_every_ms: Option<u64>,
    /// Each of the other writes is to a new key, with a value of this many bytes, as in a cache
    /// that fills; absent: all are to one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_writes_bytes: Option<u32>,
    /// The memory that the node may use, in bytes: `maxmemory`; absent: no limit. A node without
    /// keys uses 914,608 bytes, and each key adds as much as in Redis 7.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxmemory: Option<u64>,
    /// The policy when its keys need more memory, by Redis's names; absent: `noeviction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxmemory_policy: Option<String>,
    /// The clock that keys expire by.
    pub clock: NodeClock,
    /// The server that the node is. Real servers have to be of this version, or later; those of a
    /// scenario without it may be of any.
    #[serde(skip_serializing_if = "Imitate::is_default")]
    pub imitate: Imitate,
    /// Whether programs under `locklab attack` speak to the node over TLS.
    #[serde(skip_serializing_if = "is_false")]
    pub tls: bool,
    /// When a database answers a statement that changes something.
    #[serde(skip_serializing_if = "Commit::is_default")]
    pub commit: Commit,
}

impl NodeSpec {
    /// Whether all options have their defaults.
    pub(super) fn is_default(&self) -> bool {
        *self == NodeSpec::default()
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(it: &bool) -> bool {
    !it
}

/// Which of a node's data survives which failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing.
    #[default]
    None,
    /// Every write is durable before the reply: `appendfsync always`.
    AofAlways,
    /// Writes survive the end of the process immediately, and a power failure after a second at
    /// most: `appendfsync everysec`.
    AofEverysec,
    /// Writes survive the end of the process immediately, and a power failure after 35 s at most,
    /// when the kernel has written them back: `appendfsync no`.
    AofNo,
    /// The data set of the last snapshot, by Redis's default rule: `save 3600 1 300 100 60
    /// 10000`.
    Snapshot,
}

impl From<Persistence> for locklab_redis::Persistence {
    fn from(persistence: Persistence) -> Self {
        use locklab_redis::{Fsync, Persistence as Kept, SnapshotRule};
        match persistence {
            Persistence::None => Kept::Nothing,
            Persistence::AofAlways => Kept::AppendOnly(Fsync::Always),
            Persistence::AofEverysec => Kept::AppendOnly(Fsync::EverySecond),
            Persistence::AofNo => Kept::AppendOnly(Fsync::No),
            Persistence::Snapshot => Kept::Snapshots(SnapshotRule::of_redis()),
        }
    }
}

/// The clock of its host by which a node expires keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeClock {
    /// The wall clock, which may be set: what Redis uses.
    #[default]
    Wall,
    /// The monotonic clock, which may not: what antirez said Redis should use.
    Monotonic,
}

/// A server with the commands of its version that release a lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Imitate {
    /// Redis 7.0.
    #[default]
    #[serde(rename = "redis-7.0")]
    Redis7_0,
    /// Redis 8.4, which has DELEX.
    #[serde(rename = "redis-8.4")]
    Redis8_4,
    /// Valkey 9.0, which has DELIFEQ.
    #[serde(rename = "valkey-9.0")]
    Valkey9_0,
}

impl Imitate {
    // serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_default(&self) -> bool {
        *self == Imitate::default()
    }
}

impl From<Imitate> for locklab_redis::Imitated {
    fn from(imitate: Imitate) -> Self {
        use locklab_redis::Imitated;
        match imitate {
            Imitate::Redis7_0 => Imitated::Redis7_0,
            Imitate::Redis8_4 => Imitated::Redis8_4,
            Imitate::Valkey9_0 => Imitated::Valkey9_0,
        }
    }
}

/// When a database answers a statement that changes something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commit {
    /// When the change is on its disk.
    #[default]
    Synchronous,
    /// At once: PostgreSQL's `synchronous_commit = off`. The change reaches the disk within [`Commit::DELAY_MS`] (PostgreSQL
    /// promises three times that), and is lost if the database ends before.
    Asynchronous,
}

impl Commit {
    /// PostgreSQL's `wal_writer_delay`, in milliseconds.
    pub const DELAY_MS: u64 = 200;

    // serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_default(&self) -> bool {
        *self == Commit::default()
    }
}

/// The network between any two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// The one-way delay of a packet between two hosts, in milliseconds.
    pub latency_ms: Dist,
    /// The share of transmissions that are lost, 0 to 1; each is retransmitted after the
    /// retransmission timeout.
    pub loss: f64,
}

impl Default for Network {
    /// A quiet network within one region: 1 to 5 ms one way, nothing lost.
    fn default() -> Self {
        Network {
            latency_ms: Dist::Uniform(1.0, 5.0),
            loss: 0.0,
        }
    }
}

/// The errors of the hosts' clocks at the beginning of the run, and of their timers throughout.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clocks {
    /// Per host, `[clocks.host.n3]`; the clocks of all other hosts are exact.
    pub host: VecMap<String, HostClock>,
    /// How late every timer of a client fires, in milliseconds: an operating system wakes a process
    /// no sooner than it asked, and a busy one later.
    #[serde(skip_serializing_if = "is_zero")]
    pub timers_late_ms: f64,
}

impl Clocks {
    /// How late every timer of a client fires.
    pub fn timers_late(&self) -> Duration {
        Duration::from_nanos(ns_from_fractional_ms(self.timers_late_ms) as u64)
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The error of one host's clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostClock {
    /// How far the wall clock is ahead of true time, in milliseconds; negative: behind.
    pub offset_ms: f64,
    /// How much too fast both clocks run, in parts per million; 100 000 is 10 % fast.
    pub drift_ppm: i64,
}
