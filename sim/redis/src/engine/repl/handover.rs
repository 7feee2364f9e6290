//! FAILOVER: a master hands its role to a replica that has everything (`src/replication.c`).
//!
//! The master holds writes back until a replica has acknowledged all of the stream. Then it
//! follows that replica, and its first PSYNC says FAILOVER: the replica is a master from
//! there on, and the stream goes on without a snapshot. Nothing is lost, unless FORCE was
//! given and the time was over before the replica had everything.
//!
//! As in 7.0 the replica does not remember who asked: if its answer is lost with the link, it
//! refuses when it is asked again, the old master gives up, and both are masters.

use super::{follow, promote};
use crate::engine::session::Session;
use crate::engine::state::State;

/// A handover that is under way.
pub(in crate::engine) struct Handover {
    /// To whom: host and port, as the replica announces them. None: to the first that has
    /// everything.
    target: Option<(String, u16)>,
    deadline: Option<Deadline>,
    stage: Stage,
}

/// What TIMEOUT set.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Deadline {
    /// By the node's wall clock in milliseconds since the epoch.
    pub(in crate::engine) at_ms: i64,
    pub(in crate::engine) then: AtDeadline,
}

/// What becomes of a handover whose replica does not have everything in time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum AtDeadline {
    GiveUp,
    /// FORCE: goes on, and loses what the replica does not have.
    Force,
}

/// How far it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    /// A master still, and waits for a replica to have everything.
    Waiting,
    /// Follows its replica, which has not said yet that it is the master.
    Asking,
}

impl Handover {
    pub(in crate::engine) fn new(
        target: Option<(String, u16)>,
        deadline: Option<Deadline>,
    ) -> Self {
        Handover {
            target,
            deadline,
            stage: Stage::Waiting,
        }
    }

    /// As INFO names its state.
    pub(in crate::engine) fn state_name(&self) -> &'static str {
        match self.stage {
            Stage::Waiting => "waiting-for-sync",
            Stage::Asking => "failover-in-progress",
        }
    }

    /// When something is due whether or not a replica says anything, in milliseconds since
    /// the epoch.
    pub(in crate::engine) fn next_due_ms(&self) -> Option<i64> {
        let deadline = self.deadline.filter(|_| self.stage == Stage::Waiting);
        deadline.map(|deadline| deadline.at_ms)
    }

    /// Whether it was given a time (`failover_end_time`).
    pub(super) fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether this server has asked its replica to be the master.
    pub(super) fn is_asking(&self) -> bool {
        self.stage == Stage::Asking
    }
}

/// Goes on if the time is over, or a replica has everything (`updateFailoverStatus`).
pub(in crate::engine) fn go_on(state: &mut State, wall_us: u64) {
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

/// Gives up: a master again, or still. Whoever already asked a replica has a history of its
/// own from here on, for the replica may have taken over.
pub(in crate::engine) fn abort(state: &mut State) {
    if let Some(handover) = end(state)
        && handover.is_asking()
    {
        promote(state);
    }
}

/// The replica is the master: if there was a handover it is over, and writes are refused, no
/// longer held back.
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

/// Where a replica is that has acknowledged the whole stream, if it may be this one.
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

/// Follows the replica from now on.
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

/// `clearFailoverState`: those who wanted to write go on.
fn end(state: &mut State) -> Option<Handover> {
    let handover = state.repl.handover.take()?;
    state.resume_postponed();
    Some(handover)
}
