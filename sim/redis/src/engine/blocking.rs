//! Blocked clients: they wait for an element, for replicas, for the disk, or for the shutdown
//! (`src/blocked.c`).
//!
//! When a command has changed a key that clients wait for, their requests are retried for that
//! one key after the command; clients that wait for the same key are served in the order in which
//! they blocked.

use super::state::State;
pub(super) use super::state::blocked::{Blocked, On};
use super::state::session::{Closing, copy_bytes};
use super::state::write_position::WritePosition;
use crate::wire::reply::{Error, Reply};

/// Blocks a client.
pub(super) fn block(state: &mut State, client: u64, blocked: Blocked) {
    let db = state.client(client).db;
    state.waiting.add(client, db, &blocked);
    let session = state.client(client);
    session.blocked_bytes = match &blocked.on {
        On::Keys(keys, _) => keys.iter().map(|key| copy_bytes(key)).sum(),
        On::Replicas { .. } | On::Files { .. } | On::Shutdown => 0,
    };
    session.blocked = Some(blocked);
    state.listen();
}

/// Ends a client's wait with a reply.
pub(super) fn unblock(state: &mut State, client: u64, reply: &Reply) {
    state.waiting.forget(client);
    state.waiting.resumed.push_back(client);
    state.listen();
    if let Some(session) = state.clients.get(&client)
        && let Reply::Error(error) = reply
    {
        state.stats.fail_waiting(session.last_command, error);
    }
    if let Some(session) = state.mark_dirty(client) {
        session.blocked = None;
        session.answer(reply);
    }
}

/// Ends the waits of clients whose replicas have caught up, or whose writes are durable, those of the latest first
/// (`processClientsWaitingReplicas`); returns whether there were any.
pub(super) fn serve_ack_waiters(state: &mut State) -> bool {
    let enough = |id: u64| {
        let blocked = state.clients.get(&id)?.blocked.as_ref()?;
        Some((id, blocked.on.reply_if_enough(state)?))
    };
    let waiting = state.waiting.clients_without_keys();
    let served: Vec<(u64, Reply)> = waiting.filter_map(enough).collect();
    for (client, reply) in &served {
        unblock(state, *client, reply);
    }
    !served.is_empty()
}

/// `disconnectAllBlockedClients`: a replica cannot provide what they wait for.
pub(super) fn unblock_all(state: &mut State) {
    const WHY: Error = Error::of(
        "UNBLOCKED force unblock from blocking operation, instance state changed (master -> \
         replica?)",
    );
    let waiting: Vec<u64> = state.waiting.clients().collect();
    for client in waiting {
        unblock(state, client, &WHY.into());
        state.close(client, Closing::AfterReplies);
    }
}

/// `replyToClientsBlockedOnShutdown`: the shutdown was cancelled.
pub(super) fn fail_shutdowns(state: &mut State) {
    const WHY: Error = Error::of("ERR Errors trying to SHUTDOWN. Check logs.");
    let asked = |id: &u64| {
        let blocked = state.clients.get(id).and_then(|c| c.blocked.as_ref());
        blocked.is_some_and(|blocked| blocked.on == On::Shutdown)
    };
    let askers: Vec<u64> = state.waiting.clients().filter(asked).collect();
    for client in askers {
        unblock(state, client, &WHY.into());
    }
}

/// CLIENT UNBLOCK: returns whether the client was blocked.
pub(super) fn unblock_by_command(state: &mut State, client: u64, how: Unblock) -> bool {
    let Some(blocked) = state.clients.get(&client).and_then(|c| c.blocked.clone()) else {
        return false;
    };
    let reply = match how {
        Unblock::TimedOut => blocked.on.timeout_reply(state),
        Unblock::Failed => UNBLOCKED.into(),
    };
    unblock(state, client, &reply);
    true
}

/// The outcome that CLIENT UNBLOCK simulates.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Unblock {
    TimedOut,
    Failed,
}

/// `handleBlockedClientsTimeout`: ends the waits whose timeout has passed.
pub(super) fn time_out(state: &mut State, now_ms: i64) {
    while let Some((until_ms, client)) = state.waiting.next_timeout()
        && now_ms > until_ms
    {
        if !unblock_by_command(state, client, Unblock::TimedOut) {
            state.waiting.forget(client);
        }
    }
}

/// The earliest timeout, in milliseconds since the epoch.
pub(super) fn next_timeout_ms(state: &State) -> Option<i64> {
    let (until_ms, _) = state.waiting.next_timeout()?;
    Some(until_ms.saturating_add(1))
}

/// The error for a client unblocked by CLIENT UNBLOCK ERROR.
const UNBLOCKED: Error = Error::of("UNBLOCKED client unblocked via CLIENT UNBLOCK");

/// The error of WAITAOF on a server without an append-only file.
pub(super) const NO_FILE: Error =
    Error::of("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

impl On {
    /// The reply to a client after its timeout.
    pub(super) fn timeout_reply(&self, state: &State) -> Reply {
        match self {
            On::Keys(..) => Reply::NilArray,
            On::Replicas { offset, .. } => Reply::Integer(state.repl.count_acked(*offset)),
            On::Files { written, .. } => {
                let counts = count_files(state, *written);
                Reply::Array(counts.map(Reply::Integer).into())
            }
            // This wait has no timeout, but CLIENT UNBLOCK can simulate one.
            On::Shutdown => UNBLOCKED.into(),
        }
    }

    /// The reply to a client once enough replicas or files have its writes; elements are sent
    /// elsewhere.
    pub(super) fn reply_if_enough(&self, state: &State) -> Option<Reply> {
        let enough = match *self {
            On::Keys(..) | On::Shutdown => false,
            On::Replicas { replicas, offset } => state.repl.count_acked(offset) >= replicas,
            On::Files { local: 1.., .. } if !state.config.append_only() => {
                return Some(NO_FILE.into());
            }
            On::Files {
                local,
                replicas,
                written,
            } => {
                let [own, others] = count_files(state, written);
                own >= local && others >= replicas
            }
        };
        enough.then(|| self.timeout_reply(state))
    }
}

/// The number of files in which this is durable: of this server, and of its replicas.
fn count_files(state: &State, written: WritePosition) -> [i64; 2] {
    let durable = state.durable();
    let own = durable.is_some_and(|durable| durable.changes >= written.changes);
    [own.into(), state.repl.count_durable(written.offset)]
}
