//! CLIENT PAUSE: requests are deferred until it is over. Writes are also deferred while FAILOVER
//! or SHUTDOWN waits for replicas.

use super::state::State;
pub(super) use super::state::pause::{Pause, Whom};
use super::state::requirements::Requirements;
use super::state::session::Peer;

impl State {
    /// The requests to defer, if any, because of CLIENT PAUSE, FAILOVER or SHUTDOWN.
    pub(super) fn paused(&self) -> Option<Whom> {
        let handover = self.repl.handover.as_ref().map(|_| Whom::Writers);
        let pending_shutdown = self.pending_shutdown.as_ref().map(|_| Whom::Writers);
        self.pause
            .map(|pause| pause.whom)
            .max(handover)
            .max(pending_shutdown)
    }

    /// Whether a request of this client is deferred. A replica's never is.
    pub(super) fn is_paused(&self, client: u64, requirements: Requirements) -> bool {
        let whom = self.paused().filter(|_| !self.counts_as_replica(client));
        whom.is_some_and(|whom| whom == Whom::All || requirements.replicates)
    }

    /// Whether a client is a replica to Redis (`CLIENT_SLAVE`): a monitor is.
    pub(super) fn counts_as_replica(&self, client: u64) -> bool {
        let is_replica = || {
            let session = self.clients.get(&client);
            session.is_some_and(|session| session.peer == Peer::Replica)
        };
        self.monitors.contains(client) || (!self.repl.replicas.is_empty() && is_replica())
    }

    /// The number of clients that wait for the end of the pause.
    pub(super) fn count_postponed(&self) -> usize {
        let postponed = self.clients.values().filter(|session| session.postponed);
        postponed.count()
    }

    /// Ends the pause if it is over: the deferred requests continue.
    pub(super) fn end_pause_if_over(&mut self, now_ms: i64) {
        if self.pause.is_some_and(|pause| now_ms >= pause.until_ms) {
            self.end_pause();
        }
    }

    /// CLIENT UNPAUSE.
    pub(super) fn end_pause(&mut self) {
        self.pause = None;
        self.resume_postponed();
    }

    /// Schedules the deferred requests to be processed again, in the order in which they arrived
    /// (`unblockPostponedClients`).
    pub(super) fn resume_postponed(&mut self) {
        for client in std::mem::take(&mut self.waiting.postponed) {
            let session = self.clients.get_mut(&client);
            if let Some(session) = session.filter(|session| session.postponed) {
                session.postponed = false;
                self.waiting.resumed.push_back(client);
            }
        }
    }
}
