//! Loads what a node left on its disk, when its process starts.

use super::command::Table;
use super::state::State;
use super::state::persist::Files;
use super::state::session::{Addresses, Replies, Session};
use super::state::stats::Stats;
use super::{dispatch, notify, persist};
use crate::store::db::Overdue;
use crate::store::rdb;
use crate::wire::request::{Parsed, Parser};

/// Reads the disk: the append-only file if it is enabled, else the snapshot. An incomplete
/// command at the end of the file is ignored (`aof-load-truncated yes`); an unreadable snapshot
/// counts as absent.
pub(super) fn load(table: Table, state: &mut State, files: &Files, wall_us: u64) {
    state.config.has_file |= files.config.is_some();
    state.started_us = Some(wall_us);
    state.persist.saved_s = wall_us / 1_000_000;
    state.persist.synced_s = wall_us / 1_000_000;
    let file = match state.config.append_only() {
        true => &files.aof,
        false => &files.snapshot,
    };
    let mut rest = &file[..];
    if rdb::is_snapshot(rest)
        && let Ok(snapshot) = rdb::load(rest, state.db.count, state.db.limits)
    {
        let now_ms = (wall_us / 1000) as i64;
        for (db, key, entry) in snapshot.entries {
            // `rdbLoadRio`: time passed while the server was down.
            if entry.expires_at_ms.is_none_or(|when| when >= now_ms) {
                state.db.within(db, |db| db.load(key, entry, now_ms));
            }
        }
        rest = &rest[snapshot.len..];
    }
    replay(table, state, rest, wall_us);
    state.db.effects.clear();
    state.persist.saved_dirty = state.db.effects.dirty;
    if state.config.append_only() {
        if file.is_empty() {
            persist::rewrite(state);
        }
        state.persist.durable = Some(state.written());
    }
}

/// Executes the commands of an append-only file, as a client that gets no replies.
fn replay(table: Table, state: &mut State, mut commands: &[u8], wall_us: u64) {
    /// No connection has this number.
    const LOADER: u64 = 0;
    if commands.is_empty() {
        return;
    }
    let mut session = Session::new(LOADER, Addresses::default(), true, wall_us);
    session.replies = Replies::Off;
    state.clients.insert(LOADER, session);
    state.loading = true;
    let mut parser = Parser::default();
    while let Parsed::Multibulk { args, len } = parser.next(commands) {
        if !args.is_empty() {
            dispatch::process(table, state, LOADER, &args, wall_us);
        }
        commands = &commands[len..];
    }
    state.loading = false;
    state.db.overdue = Overdue::Delete;
    state.forget(LOADER);
    notify::deliver(state);
    state.dirty_clients.clear();
    state.persist.buffer.clear();
    state.persist.selected = None;
    state.stats = Stats::default();
}
