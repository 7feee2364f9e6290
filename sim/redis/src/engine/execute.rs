//! Executes commands that have been checked, and those of scripts: `call` of `src/server.c` and
//! `scriptCall` of `src/script.c`.

use super::command::{Call, Command, Context, Flag};
use super::errors::unknown;
use super::notify::{deliver, deliver_before_reply};
use super::repl::master;
use super::script::{Access, Flags, ScriptFlag};
use super::state::State;
use super::{eviction, monitor, persist, propagate, tracking};
use crate::store::db::Overdue;
use crate::store::effects::Targets;
use crate::wire::reply::{Error, Reply};

/// Sends the reply of an executed command, and then its notifications.
pub(super) fn answer(state: &mut State, client: u64, reply: &Reply) {
    state.client(client).answer(reply);
    if !state.db.changes.is_empty() {
        deliver(state);
    }
    monitor::after_reply(state);
}

/// Calls a command that was checked when it was queued; [`answer`] sends its reply.
pub(super) fn call(call: &mut Call<'_>) -> Reply {
    match call.table.find(call.args) {
        Some(command) => run(command, call),
        None => unknown(call.table, call.args).into(),
    }
}

/// Executes a command of a script: `scriptCall` of `src/script.c`.
pub(super) fn call_from_script(call: &mut Call<'_>, access: Access) -> Reply {
    let command = call.table.find(call.args);
    match command.ok_or(UNKNOWN_IN_SCRIPT) {
        Ok(command) => match check_in_script(call, command, access) {
            Ok(()) => run(command, call),
            Err(error) => call.refuse_in_script(Some(command), error),
        },
        Err(error) => call.refuse_in_script(None, error),
    }
}

const UNKNOWN_IN_SCRIPT: Error = Error::of("ERR Unknown Redis command called from script");

fn check_in_script(call: &mut Call<'_>, command: &Command, access: Access) -> Result<(), Error> {
    if !has_right_arity(command, call.args) {
        return Err(Error::of(
            "ERR Wrong number of args calling Redis command from script",
        ));
    }
    if command.has(Flag::NoScript) {
        return Err(Error::of(
            "ERR This Redis command is not allowed from script",
        ));
    }
    if is_stale(call.state) && !command.has(Flag::Stale) {
        return Err(Error::of(
            "ERR Can not execute the command on a stale replica",
        ));
    }
    // `scriptVerifyWriteCommandAllow`: what is sent to replicas counts as a write, so that
    // read-only scripts may run while writes are paused.
    if access == Access::ReadOnly && command.requirements().replicates {
        return Err(Error::of(
            "ERR Write commands are not allowed from read-only scripts.",
        ));
    }
    if command.has(Flag::Write) {
        if too_few_replicas(call.state, call.wall_us) {
            return Err(NO_REPLICAS);
        }
        if is_read_only(call.state, call.client) {
            return Err(READ_ONLY);
        }
        if !call.state.script_wrote
            && let Some(error) = persist::refusal(call.state)
        {
            return Err(error);
        }
        if command.has(Flag::DenyOom) && eviction::refuses_in_script(call.state, call.client) {
            return Err(eviction::OUT_OF_MEMORY);
        }
        call.state.script_wrote = true;
    }
    Ok(())
}

/// Whether a script may run in the current state, given the requirements it declares
/// (`scriptPrepareForRun`).
///
/// # Errors
///
/// The reason why it may not run.
pub(super) fn may_run(
    call: &mut Call<'_>,
    flags: Option<&Flags>,
    access: Access,
) -> Result<(), Error> {
    call.state.script_wrote = false;
    call.state.db.effects.script_targets = Targets::ALL;
    let Some(flags) = flags else {
        return match is_stale(call.state) {
            true => Err(MASTER_DOWN),
            false => eviction::may_run(call.state, None),
        };
    };
    if is_stale(call.state) && !flags.contains(&ScriptFlag::AllowStale) {
        return Err(Error::of(
            "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and \
             'allow-stale' flag is not set on the script.",
        ));
    }
    if flags.contains(&ScriptFlag::NoWrites) {
        return eviction::may_run(call.state, Some(flags));
    }
    if is_read_only(call.state, call.client) {
        return Err(Error::of(
            "READONLY You can not run script with write flag on readonly replica.",
        ));
    }
    if access == Access::ReadOnly {
        return Err(Error::of(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    match too_few_replicas(call.state, call.wall_us) {
        true => Err(NO_REPLICAS),
        false => eviction::may_run(call.state, Some(flags)),
    }
}
pub(super) fn run(command: &Command, call: &mut Call<'_>) -> Reply {
    call.state.stats.begin(command);
    monitor::begin(call, command);
    let tracks = call.session().tracking.is_some();
    let movable = command.has(Flag::MovableKeys);
    if tracks && movable && call.context != Context::Script {
        call.state.caches.declare(command.keys_of(call.args));
    }
    let db = &mut call.state.db;
    if matches!(
        db.overdue,
        Overdue::HideOnWritable | Overdue::DeleteOnWritable
    ) {
        db.overdue = match command.has(Flag::Write) {
            true => Overdue::DeleteOnWritable,
            false => Overdue::HideOnWritable,
        };
    }
    let dirty = call.state.db.effects.dirty;
    let reply = (command.run)(call).unwrap_or_else(Reply::Error);
    if call.state.db.effects.wanted {
        propagate::record(call, command, dirty);
    }
    if tracks && !movable && command.has(Flag::ReadOnly) {
        let keys = match call.context {
            // For a script, 7.0 records the declared keys, not the keys that it read.
            Context::Script => None,
            Context::Direct | Context::Transaction => Some(command.keys_of(call.args)),
        };
        tracking::remember(call.state, call.client, keys);
    }
    if !call.state.db.changes.is_empty() {
        match call.context {
            Context::Script => deliver(call.state),
            Context::Direct | Context::Transaction => deliver_before_reply(call.state),
        }
    }
    call.state.stats.end(command, call.context, &reply);
    monitor::end(call, command);
    reply
}

pub(super) const NO_REPLICAS: Error = Error::of("NOREPLICAS Not enough good replicas to write.");

pub(super) const READ_ONLY: Error =
    Error::of("READONLY You can't write against a read only replica.");

pub(super) const MASTER_DOWN: Error =
    Error::of("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");

/// `min-replicas-to-write`: a master that lately received acknowledgements from too few replicas
/// rejects writes.
pub(super) fn too_few_replicas(state: &State, wall_us: u64) -> bool {
    let wanted = state.config.min_replicas_to_write;
    wanted > 0
        && state.repl.link().is_none()
        && !state.loading
        && master::count_good(state, wall_us) < wanted
}

/// A replica executes only the writes of its master.
pub(super) fn is_read_only(state: &State, client: u64) -> bool {
    state.repl.link().is_some()
        && state.config.replica_is_read_only()
        && !state.repl.is_master(client)
        && !state.loading
}

/// `replica-serve-stale-data no`: a replica without its master rejects most commands.
pub(super) fn is_stale(state: &State) -> bool {
    let down = state.repl.link().is_some_and(|link| !link.is_up());
    down && !state.config.serves_stale_data()
}

/// Whether the number of words in a request is valid for its command.
pub(super) fn has_right_arity(command: &Command, args: &[&[u8]]) -> bool {
    let expected = command.arity.unsigned_abs() as usize;
    args.len() == expected || (command.arity < 0 && args.len() > expected)
}
