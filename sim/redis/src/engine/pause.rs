//! CLIENT PAUSE: requests are deferred until it is over. Writes are also deferred while FAILOVER
//! or SHUTDOWN waits for replicas.

use super::session::Peer;
use super::state::State;
use super::table::{Command, Flag, find};

/// A pause started by CLIENT PAUSE.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pause {
    /// The end, by the node's wall clock in milliseconds since the epoch.
    pub(super) until_ms: i64,
    pub(super) whom: Whom,
}

/// The requests that are deferred.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Whom {
    /// Requests that may change data, or may be replicated.
    Writers,
    All,
}

impl State {
    /// The requests to defer, if any, because of CLIENT PAUSE, FAILOVER or SHUTDOWN.
    pub(super) fn paused(&self) -> Option<Whom> {
        let handover = self.repl.handover.as_ref().map(|_| Whom::Writers);
        let leaving = self.leaving.as_ref().map(|_| Whom::Writers);
        self.pause
            .map(|pause| pause.whom)
            .max(handover)
            .max(leaving)
    }

    /// Whether a request of this client is deferred. A replica's never is.
    pub(super) fn is_paused(&self, client: u64, command: &Command) -> bool {
        let Some(whom) = self.paused().filter(|_| !self.is_replica(client)) else {
            return false;
        };
        whom == Whom::All
            || may_replicate(command)
            || self.is_exec_of(client, command, may_replicate)
    }

    fn is_replica(&self, client: u64) -> bool {
        let session = self.clients.get(&client);
        session.is_some_and(|session| session.peer == Peer::Replica)
    }

    /// The number of clients that wait for the end of the pause.
    pub(super) fn count_postponed(&self) -> usize {
        let postponed = self.clients.values().filter(|session| session.postponed);
        postponed.count()
    }

    /// Whether the command is EXEC, and any command in its queue is of a kind.
    pub(super) fn is_exec_of(
        &self,
        client: u64,
        command: &Command,
        is: impl Fn(&Command) -> bool,
    ) -> bool {
        let session = self
            .clients
            .get(&client)
            .filter(|_| command.has(Flag::RunsQueue));
        let transaction = session.and_then(|session| session.transaction.as_ref());
        transaction.is_some_and(|transaction| {
            transaction.queue.iter().any(|args| {
                let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
                find(&args).is_some_and(&is)
            })
        })
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

    /// Schedules the deferred requests to be processed again.
    pub(super) fn resume_postponed(&mut self) {
        for session in self.clients.values_mut().filter(|s| s.postponed) {
            session.postponed = false;
            self.waiting.resumed.push_back(session.id);
        }
    }
}

/// `CMD_WRITE | CMD_MAY_REPLICATE`.
fn may_replicate(command: &Command) -> bool {
    command.has(Flag::Write) || command.has(Flag::MayReplicate)
}
