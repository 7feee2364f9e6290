//! Output for many clients at once, and how much of it may exist before the driver takes it.
//!
//! One request may cause output for thousands of clients, a transaction or a script much more.
//! The driver limits what it keeps for each client, but sees the output only when the request is
//! complete; until then the node limits it.

use std::cmp::Reverse;

use bytes::Bytes;

use super::session::Session;
use super::state::State;
use crate::wire::reply::Encoded;

/// With more output than this, the next request waits until the driver has taken it.
const ENOUGH_BYTES: usize = 16 << 20;

/// With more output than this in one request, the clients with most of it are disconnected.
const MOST_BYTES: usize = 256 << 20;

/// The output since the driver last took it, in bytes. What is shared counts once.
#[derive(Default)]
pub(super) struct Untaken {
    bytes: usize,
}

impl Untaken {
    /// Whether the driver has to take it before the next request.
    pub(super) fn is_enough(&self) -> bool {
        self.bytes > ENOUGH_BYTES
    }

    /// Some output was appended.
    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// The driver takes all output.
    pub(super) fn clear(&mut self) {
        self.bytes = 0;
    }
}

/// Sends a message to several clients.
pub(super) fn push(state: &mut State, clients: &[u64], message: &Encoded) {
    each(state, clients, |session| session.share(message));
}

/// Sends a part of the replication stream, or a snapshot, to several replicas.
pub(super) fn stream(state: &mut State, replicas: &[u64], bytes: &Bytes) {
    each(state, replicas, |session| session.share_raw(bytes));
}

/// Appends something to the output of several clients; `append` returns the memory that it took.
fn each(state: &mut State, clients: &[u64], append: impl Fn(&mut Session) -> usize) {
    for id in clients {
        if let Some(session) = state.mark_dirty(*id) {
            let bytes = append(session);
            state.untaken.add(bytes);
        }
        while state.untaken.bytes > MOST_BYTES && cut_largest(state) {}
    }
}

/// Disconnects the client whose output takes the most memory, or of several the oldest; returns
/// whether there was one.
fn cut_largest(state: &mut State) -> bool {
    let sessions = state.clients.values_mut();
    let sizes = sessions.filter(|session| session.out.len() > 0);
    let largest = sizes.max_by_key(|session| (session.out.own_bytes(), Reverse(session.id)));
    let Some(session) = largest else {
        return false;
    };
    let bytes = session.out.own_bytes();
    session.cut_off();
    state.untaken.bytes = state.untaken.bytes.saturating_sub(bytes);
    true
}
