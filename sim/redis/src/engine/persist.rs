//! Persistence: the data that the node writes to its disk, and loads when it starts (`src/aof.c`,
//! `src/rdb.c`).
//!
//! The node decides what to write and when to sync it; the driver provides the disk and models
//! the effect of a power failure on it. Three parameters matter: `appendonly`, `appendfsync` and
//! `save`. A node writes before it replies, as Redis does before it sleeps; with `appendfsync
//! always` the data is also durable by then.
//!
//! On a full disk nothing is written, and clients that write are refused from then on: what a node has executed
//! before it noticed is only in its memory.

use super::command::Command;
use super::config::REPLICAOF;
use super::parameters::Parameters;
use super::state::State;
use super::state::fsync::Fsync;
pub(super) use super::state::persist::Saving;
use super::state::persist::{DiskWrite, Failed};
use super::state::write_position::WritePosition;
use super::{blocking, stream};
use crate::store::effects::Op;
use crate::store::rdb;
use crate::wire::reply::Error;

const NOT_APPENDED: Error =
    Error::of("MISCONF Errors writing to the AOF file: No space left on device");

const NOT_SAVED: Error = Error::of(
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that \
     may modify the data set are disabled, because this instance is configured to report errors during writes if \
     RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the \
     RDB error.",
);

/// Why clients may not write now: the last write to the disk failed (`writeCommandsDeniedByDiskError`).
pub(super) fn refusal(state: &State) -> Option<Error> {
    let failed = state.persist.failed;
    if failed.save_s.is_some() && state.config.save_points().next().is_some() {
        return Some(NOT_SAVED);
    }
    (failed.append && state.config.append_only()).then_some(NOT_APPENDED)
}

/// The same for a command from outside of a script; PING asks whether a node can write.
pub(super) fn refuses(
    state: &State,
    client: u64,
    command: &Command,
    writes: bool,
) -> Option<Error> {
    if state.persist.failed == Failed::default() || state.repl.is_master(client) {
        return None;
    }
    refusal(state).filter(|_| writes || command.name == "ping")
}

/// Appends commands to the file.
pub(super) fn feed(state: &mut State, ops: &[Op]) {
    if !state.config.append_only() {
        return;
    }
    let persist = &mut state.persist;
    for op in ops.iter().filter(|op| op.targets.file) {
        stream::put(op, &mut persist.selected, &mut persist.buffer);
    }
}

/// Begins the file with a snapshot, since the data set was replaced or the file is new.
pub(super) fn rewrite(state: &mut State) {
    if state.config.append_only() {
        let persist = &mut state.persist;
        persist.buffer.clear();
        persist.selected = None;
        persist.unsynced = false;
        persist.durable = None;
        let snapshot = rdb::save(&state.db);
        persist.writes.push(DiskWrite::Rewrite(snapshot));
    }
}

/// There is no file from now on: its contents no longer matter.
pub(super) fn stop(state: &mut State) {
    state.persist.durable = None;
    blocking::serve_ack_waiters(state);
}

/// `rewriteConfig`: the current parameters and the master.
pub(super) fn save_config(state: &mut State) {
    let mut lines = state.config.lines();
    if state.repl.link().is_some() {
        lines.push((REPLICAOF.into(), state.repl.master_address().into_bytes()));
    }
    let lines = Parameters::of_node(lines);
    state.persist.writes.push(DiskWrite::Config(lines));
}

/// `beforeSleep`: the writes that have to precede any reply.
pub(super) fn writes(state: &mut State, wall_us: u64) -> Vec<DiskWrite> {
    let now_s = wall_us / 1_000_000;
    let due = state.save_is_due(now_s);
    let persist = &mut state.persist;
    let mut writes = std::mem::take(&mut persist.writes);
    if !persist.buffer.is_empty() {
        persist.failed.append = state.disk_is_full.as_ref().is_some_and(|it| it());
        if !persist.failed.append {
            writes.push(DiskWrite::Append(persist.buffer.split().freeze()));
            persist.unsynced = true;
        }
    }
    if persist.unsynced {
        let now = match state.config.append_fsync() {
            Fsync::Always => true,
            Fsync::EverySecond => now_s > persist.synced_s || state.shut_down.is_some(),
            Fsync::No => state.shut_down.is_some(),
        };
        // Setting the clock back does not delay the next sync.
        persist.synced_s = persist.synced_s.min(now_s);
        if now {
            persist.unsynced = false;
            persist.synced_s = now_s;
            writes.push(DiskWrite::Fsync);
        }
    }
    if state.config.append_only() && !state.persist.unsynced && !state.persist.failed.append {
        state.persist.durable = Some(state.written());
    }
    let saves = match state.shut_down {
        None => due,
        Some(saving) => state.saves_on_shutdown(saving),
    };
    if saves && state.disk_is_full.as_ref().is_some_and(|it| it()) {
        state.persist.failed.save_s = Some(now_s);
    } else if saves {
        state.persist.failed.save_s = None;
        state.persist.saved_dirty = state.db.effects.dirty;
        state.persist.saved_s = now_s;
        writes.push(DiskWrite::Snapshot(rdb::save(&state.db)));
    }
    writes
}

impl State {
    /// The progress of the server when everything was last durable; none without a file.
    pub(super) fn durable(&self) -> Option<WritePosition> {
        self.persist.durable
    }

    /// When the node has to write without being called by a client, in wall-clock microseconds.
    pub(super) fn next_write_us(&self) -> Option<u64> {
        let persist = &self.persist;
        // Data written before the file was given up is no longer synced.
        let syncs = self.config.append_only() && self.config.append_fsync() == Fsync::EverySecond;
        let sync_s = (syncs && persist.unsynced).then_some(persist.synced_s + 1);
        let changes = self.db.effects.dirty - persist.saved_dirty;
        let points = self.config.save_points();
        let save_s = points
            .filter(|point| changes > 0 && changes >= point.changes)
            .map(|point| persist.saved_s + point.seconds + 1)
            .min();
        let save_s = save_s.map(|due_s| due_s.max(persist.failed.saves_from_s()));
        let due_s = [sync_s, save_s].into_iter().flatten().min();
        // Limited so that the sum does not overflow.
        let due_us = due_s.map(|due_s| due_s.saturating_mul(1_000_000).min(u64::MAX / 2));
        // What could not be appended is tried again whenever `serverCron` ends a sleep.
        let again_us =
            (self.seen_us).filter(|_| persist.failed.append && self.config.append_only());
        let due_us = [due_us, again_us.map(|seen_us| seen_us + 1)];
        Some(self.tick_from(due_us.into_iter().flatten().min()?))
    }

    /// Whether there may be pending writes.
    pub(super) fn writes_to_disk(&self) -> bool {
        self.config.append_only()
            || self.config.save_points().next().is_some()
            || !self.persist.writes.is_empty()
            || self.shut_down == Some(Saving::Always)
    }

    fn save_is_due(&self, now_s: u64) -> bool {
        let changes = self.db.effects.dirty - self.persist.saved_dirty;
        let elapsed_s = now_s.saturating_sub(self.persist.saved_s);
        changes > 0
            && now_s >= self.persist.failed.saves_from_s()
            && self
                .config
                .save_points()
                .any(|point| changes >= point.changes && elapsed_s > point.seconds)
    }

    fn saves_on_shutdown(&self, saving: Saving) -> bool {
        match saving {
            Saving::AsConfigured => self.config.save_points().next().is_some(),
            Saving::Always => true,
            Saving::Never => false,
        }
    }
}
