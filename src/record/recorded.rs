//! Everything that was recorded, from machine, servers and logs.

use serde::Serialize;

use super::answers::Latency;
use super::beats::Pulse;
use super::events::Events;
use super::logs::Runtime;
use super::peer::PeerClock;
use super::replication::Lag;
use super::values::Values;

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// When it began, in seconds since 1970.
    pub begun_s: u64,
    /// What was measured on this machine, if anything was.
    pub live: Option<Live>,
    /// What logs had.
    pub logs: Vec<Log>,
}

/// What was measured on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Live {
    /// For how long, in seconds.
    pub seconds: f64,
    /// The heartbeat.
    pub pulse: Pulse,
    /// The server that was asked, without its password.
    pub redis: Option<String>,
    /// The latency of that server.
    pub latency: Option<Latency>,
    /// Its clock beside ours.
    pub peer_clock: Option<PeerClock>,
    /// Its replica, without its password.
    pub replica: Option<String>,
    /// How far that is behind.
    pub lag: Option<Lag>,
    /// The folder in which a file was synced.
    pub fsync_folder: Option<String>,
    /// How long each sync took.
    pub fsync_ms: Option<Values>,
}

/// What the logs of one runtime had, of one or several processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    /// What wrote them.
    pub runtime: Runtime,
    /// The names of the files.
    pub files: Vec<String>,
    /// The pauses of all, in the time that all cover.
    pub pauses: Events,
    /// Waits of single threads for memory.
    pub stalls: Events,
    /// Per file with lines that may tell of pauses and were not understood: how many, and the first.
    pub unread: Vec<String>,
}
