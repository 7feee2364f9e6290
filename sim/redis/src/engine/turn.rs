//! The limit of work of a node in one call.
//!
//! Clients may send many requests together, with much output or, on a served node, with long
//! execution times. After some of them the call ends: the driver takes the output, and other
//! clients have their turns. The rest waits for the next [`Node::wake`](super::Node::wake), which
//! is due immediately.

use super::state::State;
use super::state::busy::INSTRUCTIONS_PER_LOOK;

/// The time after which a call handles no further request, in microseconds.
const LENGTH_US: u64 = 10_000;

/// Begins the turn of a call.
pub(super) fn begin(state: &mut State, wall_us: u64) {
    let ends_us = |_| wall_us.saturating_add(LENGTH_US);
    state.turn.ends_us = state.clock.as_ref().map(ends_us);
    state.turn.work = 0;
}

/// Whether the call has reached its limit.
pub(super) fn is_over(state: &mut State) -> bool {
    let turn = &mut state.turn;
    if let Some((clock, ends_us)) = state.clock.as_ref().zip(turn.ends_us)
        && turn.work >= INSTRUCTIONS_PER_LOOK
    {
        // Once it is late it stays so.
        match clock() > ends_us {
            true => return true,
            false => turn.work = 0,
        }
    }
    state.pending_output.is_enough()
}

/// Resumes the clients that waited for a turn.
pub(super) fn resume_queued(state: &mut State) {
    state.waiting.resumed.append(&mut state.turn.queue);
}

/// Ends a call: clients that it has not resumed come first in the next turn.
pub(super) fn end(state: &mut State) {
    state.waiting.resumed.append(&mut state.turn.queue);
    std::mem::swap(&mut state.waiting.resumed, &mut state.turn.queue);
}
