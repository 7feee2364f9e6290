//! Replication (`src/replication.c`): masters and replicas, the data on the link, and the
//! offsets.
//!
//! A master propagates its effects in one stream of bytes, whose length is its offset; `master`
//! is that side. A replica connects to its master as a client does, requests the data that it
//! lacks and executes the commands that it receives; `replica` is that side. Nothing here blocks:
//! a reply to a client never depends on a replica, except for WAIT.

pub(super) mod handover;
pub(super) mod master;
pub(super) mod replica;

use bytes::{Bytes, BytesMut};

use super::blocking;
use super::fan_out;
use super::state::State;
use super::state::repl::{Link, Role, run_id};
use super::state::session::Closing;
use super::stream;
use crate::store::db::Overdue;
use crate::store::effects::Op;

/// `replicationCron` runs once a second, at a tick of `serverCron`.
const CRON_US: u64 = 1_000_000;

/// Propagates commands to the replicas, through the backlog (`replicationFeedSlaves`).
pub(super) fn feed(state: &mut State, ops: &[Op]) {
    let repl = &mut state.repl;
    if repl.backlog.is_none() || repl.link().is_some() {
        return;
    }
    let mut bytes = BytesMut::new();
    for op in ops.iter().filter(|op| op.targets.replicas) {
        stream::put(op, &mut repl.selected, &mut bytes);
    }
    feed_replicas(state, &bytes);
}

/// Appends bytes to the stream.
fn feed_replicas(state: &mut State, bytes: &[u8]) {
    let repl = &mut state.repl;
    repl.offset += bytes.len() as u64;
    if let Some(backlog) = &mut repl.backlog {
        backlog.push(bytes);
    }
    let online = repl
        .replicas
        .iter()
        .filter(|(_, replica)| replica.is_online());
    let online: Vec<u64> = online.map(|(id, _)| *id).collect();
    if !online.is_empty() {
        fan_out::stream(state, &online, &Bytes::copy_from_slice(bytes));
    }
}

/// `REPLICAOF host port`: follows another server from now on. Its own replicas stay: they may be
/// able to continue with the stream that it will receive.
pub(super) fn follow(state: &mut State, host: String, port: u16) {
    let now_us = state.seen_us.unwrap_or(0);
    let followed = state.repl.link();
    let down_since_us = followed.map(|link| link.down_since_us.unwrap_or(now_us));
    replica::disconnect_master(state);
    blocking::unblock_all(state);
    // Its history as a master is one that it may be able to continue.
    state.repl.role = Role::Replica(Link {
        down_since_us,
        ..Link::new(host, port, now_us)
    });
    state.listen();
}

/// `REPLICAOF NO ONE`: becomes a master, with a new history.
pub(super) fn promote(state: &mut State) {
    if state.repl.link().is_none() {
        return;
    }
    replica::disconnect_master(state);
    state.repl.role = Role::Master;
    let id = new_id(state);
    let repl = &mut state.repl;
    repl.former = Some((std::mem::replace(&mut repl.id, id), repl.offset + 1));
    disconnect_replicas(state);
    state.repl.selected = None;
    state.listen();
}

/// `replicationCron`.
pub(super) fn run_due_cron(state: &mut State, wall_us: u64) {
    if !state.repl.is_active() {
        state.repl.next_cron_us = 0;
        return;
    }
    // Setting the clock back does not stop it.
    let longest_us = wall_us + 2 * CRON_US;
    if state.repl.next_cron_us > wall_us && state.repl.next_cron_us <= longest_us {
        return;
    }
    let next_us = state.due_from(wall_us + 1, CRON_US);
    let due_us = std::mem::replace(&mut state.repl.next_cron_us, next_us);
    if due_us == 0 {
        return;
    }
    replica::cron(state, wall_us);
    master::cron(state, wall_us, due_us);
}

fn disconnect_replicas(state: &mut State) {
    for id in std::mem::take(&mut state.repl.replicas).into_keys() {
        disconnect(state, id);
    }
}

/// Closes a connection, but not before the command that came on it is done.
fn disconnect(state: &mut State, id: u64) {
    match state.current == Some(id) {
        true => state.close(id, Closing::Now),
        false => state.kill(id),
    }
}

fn new_id(state: &mut State) -> String {
    let drawn = state.draw();
    run_id(drawn)
}

impl State {
    /// The handling of an expired key that this client finds.
    pub(super) fn overdue_for(&self, client: u64) -> Overdue {
        match self.repl.role {
            _ if self.loading || self.repl.is_master(client) => Overdue::Keep,
            Role::Replica(_) if self.config.replica_is_read_only() => Overdue::Hide,
            Role::Replica(_) => Overdue::HideOnWritable,
            Role::Master if self.paused().is_some() => Overdue::Hide,
            Role::Master => Overdue::Delete,
        }
    }
}
