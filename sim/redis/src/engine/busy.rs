//! Long-running scripts: BUSY and SCRIPT KILL (`src/script.c`).
//!
//! No time passes within one call of a node, so a script runs to its end immediately. But it
//! *takes* time, a microsecond for every ten instructions (a command counts as a hundred), and if
//! that is significant the node withholds the effects of the script until then. Clients cannot
//! tell the difference: a server that runs a script does nothing else, and after
//! `busy-reply-threshold` milliseconds it replies `BUSY` to every client, except for a few
//! commands that access no keys. A script that the interpreter had to stop never ends: it runs
//! until it is killed, which is possible if it has called no command that writes.
//!
//! A served node does not imitate this: there a script takes the time that it runs, and when
//! `busy-reply-threshold` is over, the interpreter lets the node attend to its other clients now and
//! then (`state/other_clients.rs`), as Redis does.
//!
//! Two things happen too early in the imitation. Whether a script writes is decided for the whole
//! script, not for the part before the kill. And a message that a script publishes is sent when the
//! node first answers again, although its time may come later.

use super::command::{Call, Command, Flag};
use super::script::{Reading, killed_error};
use super::state::Sha;
use super::state::State;
use super::state::busy::{Busy, taken_us};
use crate::Imitated;
use crate::wire::reply::{Error, Reply};

/// The error for other clients while a script runs (`slowscripterr`).
pub(super) fn error(state: &State) -> Error {
    let name = match state.imitated {
        Imitated::Valkey9_0 => "Valkey",
        _ => "Redis",
    };
    Error::new(format!(
        "BUSY {name} is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
    ))
}

/// Accounts for the time of a script that has run, with this reply.
pub(super) fn begin(call: &mut Call<'_>, sha: &Sha, reading: &Reading, reply: &Reply) {
    call.state.turn.count_script(reading.instructions);
    if call.state.attention.is_some() {
        // It took its time while it ran.
        return;
    }
    let lasts_us = taken_us(reading.instructions);
    if lasts_us == 0 && !reading.overrun || call.state.loading {
        return;
    }
    let now_us = call.state.process_us(call.wall_us);
    let since_us = now_us.saturating_add(call.state.slept_us);
    let threshold_us = call.state.config.busy_threshold_us();
    let resp = call.session().resp;
    let mut encoded = bytes::BytesMut::new();
    if call.session().may_answer() {
        reply.encode(resp, &mut encoded);
    }
    let busy = Busy {
        client: call.client,
        answers_from_us: since_us.saturating_add(threshold_us),
        ends_us: (!reading.overrun).then(|| since_us.saturating_add(lasts_us)),
        wrote: call.state.script_wrote,
        killed: killed_error(sha, reading),
        reply: (call.session().out.len(), encoded.len()),
    };
    // If there are two in one transaction, the first may be killed, and both take their time.
    match &mut call.state.busy {
        None => call.state.busy = Some(busy),
        Some(first) => {
            first.wrote |= busy.wrote;
            let more_us = |ends_us: u64| busy.ends_us.map(|_| ends_us.saturating_add(lasts_us));
            first.ends_us = first.ends_us.and_then(more_us);
        }
    }
    if let Some(busy) = &call.state.busy {
        let quiet_until_us = busy.ends_us.map_or(busy.answers_from_us, |ends_us| {
            ends_us.min(busy.answers_from_us)
        });
        call.state.asleep_until_us = Some(quiet_until_us);
    }
}

/// The error if a command has to be rejected.
pub(super) fn refuses(state: &State, command: &Command) -> Option<Error> {
    state.busy.as_ref()?;
    (!command.has(Flag::AllowBusy)).then(|| error(state))
}

/// SCRIPT KILL.
///
/// # Errors
///
/// There is no script to kill, or it has written.
pub(super) fn kill(state: &mut State) -> Result<(), Error> {
    let Some(busy) = &mut state.busy else {
        return Err(Error::of("NOTBUSY No scripts in execution right now."));
    };
    if busy.wrote {
        return Err(Error::of(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. You \
             can either wait the script termination or kill the server in a hard way using the \
             SHUTDOWN NOSAVE command.",
        ));
    }
    let (at, len) = busy.reply;
    let (client, killed) = (busy.client, busy.killed.clone());
    busy.ends_us = Some(0);
    if let Some(session) = state.clients.get_mut(&client)
        && len > 0
    {
        session.out.replace(at, len, |out| killed.encode(out));
    }
    Ok(())
}

/// Whether input on this connection has to wait for the end of a script: requests of the client
/// that runs it, and the master's stream.
pub(super) fn holds_back(state: &State, client: u64) -> bool {
    let busy = state.busy.as_ref();
    busy.is_some_and(|busy| busy.client == client || state.repl.is_master(client))
}

/// When the node has to be called because of a script.
pub(super) fn next_wake_us(state: &State) -> Option<u64> {
    let ends_us = state.busy.as_ref()?.ends_us?;
    Some(state.wall_us_at(ends_us))
}
