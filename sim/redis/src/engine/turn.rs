//! The limit of work of a node in one call.
//!
//! Clients may send many requests together, with much output or, on a served node, with long
//! execution times. After some of them the call ends, and the driver takes the output. The rest waits for the next
//! [`Node::wake`](super::Node::wake), which is due immediately, and comes first then. Like Redis, a node finishes the
//! requests that it has read before it serves the next client, and sends their replies together. A client that has sent
//! more in the meantime may go on without end, so the rest of its requests comes after the other clients.

use super::state::State;
use super::state::busy::INSTRUCTIONS_PER_LOOK;
use super::state::input::ConnId;

/// The time after which a call handles no further request, in microseconds.
const LENGTH_US: u64 = 10_000;

/// Begins the turn of a call.
pub(super) fn begin(state: &mut State, wall_us: u64) {
    let ends_us = state.process_us(wall_us).saturating_add(LENGTH_US);
    state.turn.ends_us = state.clock.is_some().then_some(ends_us);
    state.turn.work = 0;
    state.turn.amid = None;
}

/// Whether the call has reached its limit.
pub(super) fn is_over(state: &mut State) -> bool {
    let turn = &mut state.turn;
    if let Some((clock, ends_us)) = state.clock.as_ref().zip(turn.ends_us)
        && turn.work >= INSTRUCTIONS_PER_LOOK
    {
        // Once it is late it stays so.
        match clock().monotonic_us() > ends_us {
            true => return true,
            false => turn.work = 0,
        }
    }
    state.pending_output.is_enough()
}

/// Postpones the rest of a client's requests to another turn.
pub(super) fn queue(state: &mut State, conn: ConnId) {
    let input = state.inputs.get_mut(&conn).and_then(Option::as_mut);
    let has_grown = input.is_some_and(|input| std::mem::take(&mut input.has_grown));
    match has_grown {
        true => state.turn.queue(conn.0),
        false => {
            state.turn.amid = Some(conn.0);
            state.waiting.resumed.push_front(conn.0);
        }
    }
}

/// Whether the replies to this client wait for the rest of its requests, which the end of the turn interrupted. Much
/// output does not wait.
pub(super) fn is_amid(state: &State, conn: ConnId) -> bool {
    state.turn.amid == Some(conn.0) && !state.pending_output.is_enough()
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
