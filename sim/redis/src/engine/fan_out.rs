//! Output for many clients, and the limit of output that the driver has not taken yet.
//!
//! One request may cause output for thousands of clients, a transaction or a script much more.
//! The driver limits what it keeps for each client, but sees the output only when the request is
//! complete; until then the node limits it.

use std::cmp::Reverse;

use bytes::Bytes;

use super::state::State;
use crate::wire::memory_usage::MemoryUsage;
use crate::wire::reply::Encoded;

/// The maximum output of one request, in bytes. Beyond it the clients with the most output are
/// disconnected.
const MAX_BYTES: usize = 256 << 20;

/// Sends a message to several clients.
pub(super) fn push(state: &mut State, clients: &[u64], message: &Encoded) {
    for id in clients {
        if let Some(session) = state.mark_dirty(*id) {
            let own = session.share(message);
            state.pending_output.add(own);
        }
    }
    state.pending_output.add(message.encoded_bytes());
    limit(state);
}

/// Sends a part of the replication stream, or a snapshot, to several replicas.
pub(super) fn stream(state: &mut State, replicas: &[u64], bytes: &Bytes) {
    for id in replicas {
        if let Some(session) = state.mark_dirty(*id) {
            let own = session.share_raw(bytes);
            state.pending_output.add(own);
        }
    }
    state.pending_output.add(bytes.len());
    limit(state);
}

/// Disconnects the clients with most output, of several with as much the oldest, as long as there
/// is too much of it.
fn limit(state: &mut State) {
    if state.pending_output.bytes <= MAX_BYTES {
        return;
    }
    // Clients may have gone, and their output with them.
    let mut memory = MemoryUsage::default();
    for session in state.clients.values() {
        session.out.add_to(&mut memory);
    }
    while memory.bytes() > MAX_BYTES {
        let sessions = state.clients.values_mut();
        let Some(session) = sessions.max_by_key(|it| (it.out.len(), Reverse(it.id))) else {
            break;
        };
        session.out.remove_from(&mut memory);
        session.cut_off();
        state.dirty_clients.push(session.id);
    }
    state.pending_output.bytes = memory.bytes();
}
