//! CLIENT PAUSE: requests wait until it is over.

use super::state::State;
use super::table::{Command, Flag};

/// A pause that CLIENT PAUSE began.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pause {
    /// When it ends, by the node's wall clock in milliseconds since the epoch.
    pub(super) until_ms: i64,
    pub(super) whom: Whom,
}

/// Whose requests wait.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Whom {
    /// Those that may change something, or may be replicated.
    Writers,
    All,
}

impl State {
    /// Whether a request of this client has to wait.
    pub(super) fn is_paused(&self, client: u64, command: &Command) -> bool {
        match self.pause {
            None => false,
            Some(Pause {
                whom: Whom::All, ..
            }) => true,
            Some(_) => may_replicate(command) || self.is_exec_of_writes(client, command),
        }
    }

    /// Whether no request waits for the end of the pause.
    pub(super) fn pause_is_unnoticed(&self) -> bool {
        self.clients.values().all(|session| !session.postponed)
    }

    fn is_exec_of_writes(&self, client: u64, command: &Command) -> bool {
        let transaction = self
            .clients
            .get(&client)
            .and_then(|c| c.transaction.as_ref());
        command.name == "exec"
            && transaction.is_some_and(|transaction| {
                transaction.queue.iter().any(|args| {
                    let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
                    super::table::find(&args).is_some_and(may_replicate)
                })
            })
    }

    /// Ends the pause if it is over: the requests that it held back go on.
    pub(super) fn end_pause_if_over(&mut self, now_ms: i64) {
        if self.pause.is_some_and(|pause| now_ms >= pause.until_ms) {
            self.end_pause();
        }
    }

    /// CLIENT UNPAUSE.
    pub(super) fn end_pause(&mut self) {
        self.pause = None;
        for session in self.clients.values_mut().filter(|s| s.postponed) {
            session.postponed = false;
            self.waiting.resumed.push_back(session.id);
        }
    }
}

/// `CMD_WRITE | CMD_MAY_REPLICATE`.
fn may_replicate(command: &Command) -> bool {
    const WITHOUT_FLAG: [&str; 6] = [
        "eval",
        "evalsha",
        "fcall",
        "publish",
        "spublish",
        "script|load",
    ];
    command.flags.contains(&Flag::Write) || WITHOUT_FLAG.contains(&command.name)
}
