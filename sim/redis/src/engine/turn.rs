//! How much a node does in one call.
//!
//! Clients may send many requests at once, with much output or, on a served node, of which each
//! takes long. After some of them the call ends: the driver takes the output, and other clients
//! have their turns. The rest waits for the next [`Node::wake`](super::Node::wake), which is due
//! at once.

use std::collections::VecDeque;

use super::state::State;

/// After this time a call handles no further request, in microseconds.
const LENGTH_US: u64 = 10_000;

/// The turn that began with the current call.
#[derive(Default)]
pub(super) struct Turn {
    /// When it ends, by the machine's clock; `None` on a node that reads no clock, whose
    /// requests take no time.
    ends_us: Option<u64>,
    /// The clients whose requests wait for another turn.
    queue: VecDeque<u64>,
}

impl Turn {
    /// A client's requests wait for the next turn.
    pub(super) fn queue(&mut self, client: u64) {
        self.queue.push_back(client);
    }

    /// Whether a client's requests wait.
    pub(super) fn is_queued(&self, client: u64) -> bool {
        self.queue.contains(&client)
    }

    /// Whether any client's requests wait.
    pub(super) fn is_awaited(&self) -> bool {
        !self.queue.is_empty()
    }
}

/// A call begins.
pub(super) fn begin(state: &mut State) {
    let ends_us = |clock: fn() -> u64| clock().saturating_add(LENGTH_US);
    state.turn.ends_us = state.clock.map(ends_us);
}

/// Whether the call has done enough.
pub(super) fn is_over(state: &State) -> bool {
    let is_late = |clock: fn() -> u64| state.turn.ends_us.is_some_and(|ends_us| clock() > ends_us);
    state.untaken.is_enough() || state.clock.is_some_and(is_late)
}

/// The clients that waited for a turn continue.
pub(super) fn resume_queued(state: &mut State) {
    state.waiting.resumed.append(&mut state.turn.queue);
}

/// The call ends: what it has not resumed waits for the next turn.
pub(super) fn end(state: &mut State) {
    state.turn.queue.append(&mut state.waiting.resumed);
}
