//! When sessions expire: by the leader's monotonic clock, and through the log.
//!
//! A leader counts the timeout of each session from when it last heard of its client. It
//! knows nothing of what former leaders heard, so a new one starts with a whole timeout
//! for everybody. When one is over the leader proposes the session's end, once; only the
//! log ends it, and what is heard of the client from then on comes too late.
//!
//! A client that counts from when it *sent* a request that was answered never believes
//! in its session for longer than its leader does, rates of clocks aside.

use std::collections::BTreeMap;

use super::command::SessionId;

/// The deadlines of the sessions that a leader watches.
#[derive(Default)]
pub(super) struct Expiry(BTreeMap<SessionId, u64>);

impl Expiry {
    /// Counts for these sessions, given with their timeouts in milliseconds, from now on;
    /// for no others.
    pub(super) fn restart(
        &mut self,
        sessions: impl Iterator<Item = (SessionId, u64)>,
        now_ns: u64,
    ) {
        self.0.clear();
        sessions.for_each(|(session, timeout_ms)| self.opened(session, timeout_ms, now_ns));
    }

    /// A session begins.
    pub(super) fn opened(&mut self, session: SessionId, timeout_ms: u64, now_ns: u64) {
        let deadline_ns = now_ns.saturating_add(timeout_ms.saturating_mul(1_000_000));
        self.0.insert(session, deadline_ns);
    }

    /// Something was heard of the client of a session, if that is not over.
    pub(super) fn heard(&mut self, session: SessionId, timeout_ms: u64, now_ns: u64) {
        if self.0.contains_key(&session) {
            self.opened(session, timeout_ms, now_ns);
        }
    }

    /// A session has ended.
    pub(super) fn ended(&mut self, session: SessionId) {
        self.0.remove(&session);
    }

    /// The sessions whose time is over. They are not named again.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Vec<SessionId> {
        let due = self.0.iter().filter(|(_, deadline)| **deadline <= now_ns);
        let due: Vec<SessionId> = due.map(|(session, _)| *session).collect();
        due.iter().for_each(|session| self.ended(*session));
        due
    }

    /// When the first will be.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.0.values().min().copied()
    }
}
