//! FAILOVER: a master hands its role to a replica that has received everything
//! (`src/replication.c`).
//!
//! The master defers writes until a replica has acknowledged all of the stream. Then it follows
//! that replica, and its first PSYNC says FAILOVER: the replica becomes the master, and the
//! stream continues without a snapshot. Nothing is lost, unless FORCE was given and the timeout
//! passed before the replica had everything.
//!
//! As in 7.0 the replica does not remember the request: if its answer is lost with the link, it
//! refuses the repeated request, the old master gives up, and both are masters.

use super::{follow, promote};
use crate::engine::state::State;
use crate::engine::state::handover::{AtDeadline, Deadline, Handover, Stage};
use crate::engine::state::session::Session;

/// Proceeds if the timeout has passed, or a replica has everything (`updateFailoverStatus`).
pub(in crate::engine) fn advance(state: &mut State, wall_us: u64) {
    let Some(handover) = &state.repl.handover else {
        return;
    };
    if handover.is_asking() {
        return;
    }
    let now_ms = (wall_us / 1000) as i64;
    let over = |deadline: &Deadline| now_ms >= deadline.at_ms;
    match handover.deadline.filter(over).map(|deadline| deadline.then) {
        Some(AtDeadline::GiveUp) => abort(state),
        Some(AtDeadline::Force) => demote(state, handover.target.clone()),
        None => demote(state, find_caught_up(state, handover)),
    }
}

/// Gives up: this server is a master again, or still. If it had already asked a replica, it
/// starts a new history, because the replica may have taken over.
pub(in crate::engine) fn abort(state: &mut State) {
    if let Some(handover) = end(state)
        && handover.is_asking()
    {
        promote(state);
    }
}

/// Completes a handover in progress, since the replica has become the master: writes are rejected
/// instead of deferred.
pub(super) fn succeed(state: &mut State) {
    end(state);
}

/// Finds the replica that announces this address (`findReplica`).
pub(in crate::engine) fn find_replica(state: &State, host: &str, port: u16) -> Option<u64> {
    let is_it = |session: &Session| {
        let (ip, listens) = session.replica_address();
        ip.eq_ignore_ascii_case(host) && listens == port
    };
    let mut ids = state.repl.replicas.keys().copied();
    ids.find(|id| state.clients.get(id).is_some_and(is_it))
}

/// The address of a replica that has acknowledged the whole stream, if it is eligible.
fn find_caught_up(state: &State, handover: &Handover) -> Option<(String, u16)> {
    let has_all = |id: &u64| {
        let replica = state.repl.replicas.get(id);
        replica.is_some_and(|replica| state.repl.has_all(replica))
    };
    match &handover.target {
        Some((host, port)) => {
            let found = find_replica(state, host, *port).filter(has_all);
            found.map(|_| (host.clone(), *port))
        }
        None => {
            let id = state.repl.replicas.keys().find(|id| has_all(id))?;
            Some(state.clients.get(id)?.replica_address())
        }
    }
}

/// Starts to follow the replica.
fn demote(state: &mut State, to: Option<(String, u16)>) {
    let Some((host, port)) = to else {
        return;
    };
    if let Some(handover) = &mut state.repl.handover {
        handover.stage = Stage::Asking;
        handover.target = Some((host.clone(), port));
    }
    follow(state, host, port);
}

/// `clearFailoverState`: deferred writes continue.
fn end(state: &mut State) -> Option<Handover> {
    let handover = state.repl.handover.take()?;
    state.resume_postponed();
    Some(handover)
}
