//! The writes of a node to its disk, and their state.

use bytes::{Bytes, BytesMut};

use super::write_position::WritePosition;
use crate::engine::parameters::Parameters;

/// An operation on the node's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskWrite {
    /// Append these bytes to the append-only file. They survive a crash of the process, and one
    /// of the machine once they are synced.
    Append(Bytes),
    /// Make all appended bytes durable.
    Fsync,
    /// Replace the append-only file by this one, durably.
    Rewrite(Bytes),
    /// Replace the snapshot by this one, durably.
    Snapshot(Bytes),
    /// Replace the configuration file, durably.
    Config(Parameters),
}

/// The contents of the disk when the node starts; an empty file counts as absent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    /// The append-only file.
    pub aof: Vec<u8>,
    /// The last snapshot.
    pub snapshot: Vec<u8>,
    /// The configuration file, once CONFIG REWRITE has written it.
    pub config: Option<Parameters>,
}

impl Files {
    /// Performs a disk operation of a node, on a disk that loses nothing.
    pub fn write(&mut self, write: DiskWrite) {
        match write {
            DiskWrite::Append(bytes) => self.aof.extend_from_slice(&bytes),
            DiskWrite::Fsync => {}
            DiskWrite::Rewrite(bytes) => self.aof = bytes.into(),
            DiskWrite::Snapshot(bytes) => self.snapshot = bytes.into(),
            DiskWrite::Config(parameters) => self.config = Some(parameters),
        }
    }
}

/// The state of writing: pending and completed.
#[derive(Default)]
pub(in crate::engine) struct Persistence {
    pub(in crate::engine) writes: Vec<DiskWrite>,
    /// Bytes to append.
    pub(in crate::engine) buffer: BytesMut,
    /// The number of the database that the file has selected; none if it has selected none.
    pub(in crate::engine) selected: Option<usize>,
    /// Bytes were appended since the last sync.
    pub(in crate::engine) unsynced: bool,
    /// The progress of the server when everything was last durable; none without a file.
    pub(in crate::engine) durable: Option<WritePosition>,
    /// The wall-clock second in which the last sync began.
    pub(in crate::engine) synced_s: u64,
    /// The value of `Effects::dirty` at the last snapshot, and the time of that snapshot.
    pub(in crate::engine) saved_dirty: u64,
    pub(in crate::engine) saved_s: u64,
    /// What the last write came to.
    pub(in crate::engine) failed: Failed,
}

/// What could not be written when it was last tried, because the disk was full.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) struct Failed {
    /// Bytes for the append-only file: `aof_last_write_status`.
    pub(in crate::engine) append: bool,
    /// A snapshot, in this wall-clock second: `lastbgsave_status`.
    pub(in crate::engine) save_s: Option<u64>,
}

impl Failed {
    /// The first wall-clock second in which a snapshot may be tried: more than five after one that failed
    /// (`CONFIG_BGSAVE_RETRY_DELAY`).
    pub(in crate::engine) fn saves_from_s(self) -> u64 {
        self.save_s.map_or(0, |at_s| at_s + 6)
    }
}

/// Whether SHUTDOWN takes a snapshot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Saving {
    /// If there are save points.
    AsConfigured,
    /// SAVE.
    Always,
    /// NOSAVE.
    Never,
}
