//! SHUTDOWN: the server ends when its replicas have everything, or when it has waited for
//! them for long enough (`src/server.c`).
//!
//! Meanwhile it holds writes back and goes on answering reads, so what it has acknowledged is
//! on whichever replica takes over. NOW does without, and so does a server whose replicas
//! have said that they have everything.

use super::blocking::{self, Blocked, On, block};
use super::persist::Saving;
use super::repl::master;
use super::session::Closing;
use super::state::State;

/// A shutdown that waits for replicas.
pub(super) struct Leaving {
    /// For how long, by the node's wall clock in milliseconds since the epoch.
    pub(super) until_ms: i64,
    /// When `serverCron` looks next whether it is over, in wall-clock microseconds.
    pub(super) look_us: u64,
    saving: Saving,
}

/// Whether replicas are waited for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Patience {
    /// For `shutdown-timeout`.
    AsConfigured,
    /// NOW.
    None,
}

/// A client asks for the end (`prepareForShutdown`). While a shutdown waits for replicas,
/// all that another one does is to wait with it, even one that says NOW.
pub(super) fn begin(
    state: &mut State,
    client: u64,
    saving: Saving,
    patience: Patience,
    wall_us: u64,
) {
    let timeout_ms = state.config.shutdown_timeout_ms();
    if state.leaving.is_none() {
        if patience == Patience::None || timeout_ms == 0 || state.repl.all_have_all() {
            state.shut_down = Some(saving);
            // The client is not answered: its connection ends.
            state.close(client, Closing::Now);
            return;
        }
        if state.paused().is_none() {
            master::get_acks(state);
        }
        state.leaving = Some(Leaving {
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

/// Ends the server if `serverCron` is due and there is nothing more to wait for. Writes are
/// held back to the last: nobody would have them.
pub(super) fn go_on(state: &mut State, wall_us: u64) {
    let Some(leaving) = &state.leaving else {
        return;
    };
    let next_us = state.tick_from(wall_us + 1);
    if leaving.look_us == next_us {
        return;
    }
    let time_is_over = (wall_us / 1000) as i64 >= leaving.until_ms;
    if time_is_over || state.repl.all_have_all() {
        state.shut_down = Some(leaving.saving);
    } else if let Some(leaving) = &mut state.leaving {
        leaving.look_us = next_us;
    }
}

/// SHUTDOWN ABORT (`cancelShutdown`): who asked for the end hears that it does not come, and
/// writes go on. Says whether there was anything to call off.
pub(super) fn abort(state: &mut State) -> bool {
    let leaving = state.leaving.take();
    if leaving.is_some() {
        blocking::fail_shutdowns(state);
        state.resume_postponed();
    }
    leaving.is_some()
}
