//! SHUTDOWN: the server ends once its replicas have received everything, or after it has waited
//! for them long enough (`src/server.c`).
//!
//! Meanwhile it defers writes and keeps answering reads, so everything it has acknowledged is on
//! any replica that takes over. There is no wait with NOW, or if the replicas have already
//! acknowledged everything.

use super::blocking::{self, Blocked, On, block};
use super::repl::master;
use super::state::State;
use super::state::persist::Saving;
use super::state::session::Closing;
use super::state::shutdown::PendingShutdown;

/// Whether the server waits for replicas.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum ReplicaWait {
    /// For the time in `shutdown-timeout`.
    Configured,
    /// NOW.
    Skip,
}

/// Begins the shutdown that a client requests (`prepareForShutdown`). While a shutdown waits for
/// replicas, another SHUTDOWN only waits along with it, even with NOW.
pub(super) fn begin(
    state: &mut State,
    client: u64,
    saving: Saving,
    wait: ReplicaWait,
    wall_us: u64,
) {
    let timeout_ms = state.config.shutdown_timeout_ms();
    if state.pending_shutdown.is_none() {
        if wait == ReplicaWait::Skip || timeout_ms == 0 || state.repl.all_have_all() {
            state.shut_down = Some(saving);
            // The client gets no reply: its connection closes. So does that of a script that runs.
            let runs_script = state.busy.as_ref().map(|busy| busy.client);
            for client in [Some(client), runs_script].into_iter().flatten() {
                state.close(client, Closing::Now);
            }
            return;
        }
        if state.paused().is_none() {
            master::get_acks(state);
        }
        state.pending_shutdown = Some(PendingShutdown {
            until_ms: (wall_us / 1000) as i64 + timeout_ms,
            look_us: state.tick_from(wall_us + 1),
            saving,
        });
    }
    let blocked = Blocked {
        on: On::Shutdown,
        until_ms: None,
    };
    block(state, client, blocked);
}

/// Ends the server if `serverCron` is due and there is nothing more to wait for. Writes stay
/// deferred to the end: they would reach no replica.
pub(super) fn advance(state: &mut State, wall_us: u64) {
    let Some(pending_shutdown) = &state.pending_shutdown else {
        return;
    };
    let next_us = state.tick_from(wall_us + 1);
    if pending_shutdown.look_us == next_us {
        return;
    }
    let time_is_over = (wall_us / 1000) as i64 >= pending_shutdown.until_ms;
    if time_is_over || state.repl.all_have_all() {
        state.shut_down = Some(pending_shutdown.saving);
    } else if let Some(pending_shutdown) = &mut state.pending_shutdown {
        pending_shutdown.look_us = next_us;
    }
}

/// SHUTDOWN ABORT (`cancelShutdown`): notifies the clients that requested the shutdown, and
/// resumes writes. Returns whether there was a shutdown to cancel.
pub(super) fn abort(state: &mut State) -> bool {
    let pending_shutdown = state.pending_shutdown.take();
    if pending_shutdown.is_some() {
        blocking::fail_shutdowns(state);
        state.resume_postponed();
    }
    pending_shutdown.is_some()
}
