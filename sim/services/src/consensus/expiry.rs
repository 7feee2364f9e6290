//! The expiry of sessions: by the leader's monotonic clock, and through the log.
//!
//! A leader measures the timeout of each session from the last request of its client. It does
//! not know about requests to former leaders, so a new leader starts every session with a full
//! timeout. When a timeout is over the leader proposes the end of the session, once; only the
//! log ends it, and later requests of the client come too late.
//!
//! A client that measures from when it *sent* a request that was answered never believes in its
//! session for longer than its leader does, apart from clock rate errors.

use locklab_values::units::ns_from_ms;
use locklab_vecmap::VecMap;

use super::command::SessionId;

/// The deadlines of the sessions that a leader watches.
#[derive(Default)]
pub(super) struct Expiry(VecMap<SessionId, u64>);

impl Expiry {
    /// Restarts the timeouts of these sessions, given in milliseconds; drops all other
    /// sessions.
    pub(super) fn restart(
        &mut self,
        sessions: impl Iterator<Item = (SessionId, u64)>,
        now_ns: u64,
    ) {
        self.0.clear();
        sessions.for_each(|(session, timeout_ms)| self.opened(session, timeout_ms, now_ns));
    }

    /// Adds a session.
    pub(super) fn opened(&mut self, session: SessionId, timeout_ms: u64, now_ns: u64) {
        let deadline_ns = now_ns.saturating_add(ns_from_ms(timeout_ms));
        self.0.insert(session, deadline_ns);
    }

    /// Restarts the timeout of a session whose client sent a request; ignored if the session has
    /// ended.
    pub(super) fn renew(&mut self, session: SessionId, timeout_ms: u64, now_ns: u64) {
        if self.0.contains_key(&session) {
            self.opened(session, timeout_ms, now_ns);
        }
    }

    /// Removes a session.
    pub(super) fn ended(&mut self, session: SessionId) {
        self.0.remove(&session);
    }

    /// Removes and returns the sessions whose timeout is over.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Vec<SessionId> {
        let due = self.0.iter().filter(|(_, deadline)| **deadline <= now_ns);
        let due: Vec<SessionId> = due.map(|(session, _)| *session).collect();
        due.iter().for_each(|session| self.ended(*session));
        due
    }

    /// The earliest deadline.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.0.values().min().copied()
    }
}
