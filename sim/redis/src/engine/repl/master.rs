//! The master side: PSYNC, acknowledgements, WAIT, good replicas.

use bytes::Bytes;

use super::{feed, new_id};
use crate::engine::fan_out;
use crate::engine::state::State;
use crate::engine::state::backlog::Backlog;
use crate::engine::state::handover::Handover;
use crate::engine::state::repl::{Replica, ReplicaState};
use crate::engine::state::session::Peer;
use crate::store::effects::{Op, Targets};
use crate::store::rdb;

/// `PSYNC id offset`: continues from that offset if possible, otherwise sends a full snapshot
/// first.
pub(in crate::engine) fn psync(
    state: &mut State,
    client: u64,
    id: &str,
    offset: i64,
    wall_us: u64,
) {
    let missing = u64::try_from(offset)
        .ok()
        .filter(|offset| shares_history(state, id, *offset))
        .and_then(|offset| state.repl.backlog.as_ref()?.from(offset));
    let session = state.client(client);
    session.peer = Peer::Replica;
    let mut replica = Replica {
        state: ReplicaState::Online,
        acked: 0,
        durable: 0,
        acked_us: wall_us,
    };
    if missing.is_some() {
        state.stats.partial_syncs += 1;
    } else {
        state.stats.full_syncs += 1;
        // Not if it did not ask to continue.
        state.stats.refused_partial_syncs += u64::from(!id.starts_with('?'));
    }
    if let Some(missing) = missing {
        let answer = format!("+CONTINUE {}\r\n", state.repl.id);
        let session = state.client(client);
        session.out.tail().extend_from_slice(answer.as_bytes());
        session.out.tail().extend_from_slice(&missing);
        state.repl.replicas.insert(client, replica);
        return;
    }
    if state.repl.backlog.is_none() {
        // No replica has the previous history.
        state.repl.id = new_id(state);
        state.repl.former = None;
        begin_backlog(state);
    }
    replica.state = ReplicaState::Waiting { since_us: wall_us };
    state.repl.replicas.insert(client, replica);
    match state.repl.readers_to_mark.contains(&client) {
        true => start_due_syncs(state, wall_us),
        // It needs a snapshot of known length, from a file: one is made immediately, for all
        // waiting replicas.
        false => sync_waiting(state, wall_us),
    }
}

/// Starts to keep the stream.
pub(super) fn begin_backlog(state: &mut State) {
    let capacity = state.config.backlog_bytes();
    state.repl.backlog = Some(Backlog::new(capacity, state.repl.offset));
    state.listen();
}

/// `masterTryPartialResynchronization`: whether an offset belongs to the same history.
fn shares_history(state: &State, id: &str, offset: u64) -> bool {
    let repl = &state.repl;
    id == repl.id
        || repl
            .former
            .as_ref()
            .is_some_and(|(former, end)| id == former && offset <= *end)
}

/// Sends snapshots to replicas that have waited long enough for others to request one too
/// (`repl-diskless-sync-delay`).
fn start_due_syncs(state: &mut State, wall_us: u64) {
    let delay_us = state.config.sync_delay_s() * 1_000_000;
    let waits = |replica: &Replica| match replica.state {
        ReplicaState::Waiting { since_us } => Some(wall_us.saturating_sub(since_us)),
        ReplicaState::Online => None,
    };
    let longest = state.repl.replicas.values().filter_map(waits).max();
    if longest.is_none_or(|waited_us| waited_us < delay_us) {
        return;
    }
    sync_waiting(state, wall_us);
}

/// Sends a snapshot to all replicas that wait for one.
fn sync_waiting(state: &mut State, wall_us: u64) {
    // The stream after the snapshot of a replica continues that of its master.
    let stream_db = state.repl.link().map_or(0, |_| state.repl.stream_db);
    let snapshot = rdb::save_for_stream(&state.db, stream_db);
    let head = format!(
        "+FULLRESYNC {} {}\r\n${}\r\n",
        state.repl.id,
        state.repl.offset,
        snapshot.len()
    );
    // The stream that follows must not depend on an earlier SELECT.
    state.repl.selected = None;
    let mut waiting = Vec::new();
    for (id, replica) in &mut state.repl.replicas {
        if !replica.is_online() {
            replica.state = ReplicaState::Online;
            replica.acked_us = wall_us;
            waiting.push(*id);
        }
    }
    fan_out::stream(state, &waiting, &Bytes::from(head));
    fan_out::stream(state, &waiting, &snapshot);
}

/// `REPLCONF ACK offset FACK durable`.
pub(in crate::engine) fn acknowledge(
    state: &mut State,
    client: u64,
    offset: u64,
    durable: Option<u64>,
    wall_us: u64,
) {
    if let Some(replica) = state.repl.replicas.get_mut(&client) {
        replica.acked = replica.acked.max(offset);
        replica.durable = replica.durable.max(durable.unwrap_or(0));
        replica.acked_us = wall_us;
        state.repl.acks_came = true;
    }
}

/// The number of replicas that sent an acknowledgement within `min-replicas-max-lag`.
pub(in crate::engine) fn count_good(state: &State, wall_us: u64) -> u64 {
    let most_s = state.config.max_lag_s();
    let replicas = state.repl.replicas.values();
    let good = replicas.filter(|replica| replica.is_online() && replica.lag_s(wall_us) <= most_s);
    good.count() as u64
}

/// Asks the replicas for acknowledgements, if a client waits for them.
pub(in crate::engine) fn ask_for_acks(state: &mut State) {
    // The request would make the stream longer.
    if state.paused().is_none() && std::mem::take(&mut state.repl.acks_wanted) {
        get_acks(state);
    }
}

/// Asks the replicas for acknowledgements.
pub(in crate::engine) fn get_acks(state: &mut State) {
    send_command(state, &[b"REPLCONF", b"GETACK", b"*"]);
}

/// The work of every second, at `due_us` or a little later.
pub(super) fn cron(state: &mut State, wall_us: u64, due_us: u64) {
    start_due_syncs(state, wall_us);
    let timeout_us = state.config.repl_timeout_s() * 1_000_000;
    let silent = |replica: &Replica| {
        replica.is_online() && wall_us.saturating_sub(replica.acked_us) > timeout_us
    };
    let replicas = state.repl.replicas.iter();
    let silent: Vec<u64> = replicas
        .filter(|(_, r)| silent(r))
        .map(|(id, _)| *id)
        .collect();
    for id in silent {
        state.kill(id);
    }
    let period_us = state.config.ping_period_s() * 1_000_000;
    let handover = state.repl.handover.as_ref();
    let stands_still = handover.is_some_and(Handover::has_deadline);
    let is_due = state.due_from(due_us, period_us) == due_us;
    if is_due && !state.repl.replicas.is_empty() && !stands_still {
        send_command(state, &[b"ping"]);
    }
}

/// Sends the replicas a command that changes nothing.
fn send_command(state: &mut State, words: &[&'static [u8]]) {
    let op = Op {
        db: None,
        words: words.iter().map(|word| Bytes::from_static(word)).collect(),
        targets: Targets::REPLICAS,
    };
    feed(state, &[op]);
}
