//! The path from a request to its reply: `processCommand` of `src/server.c`.

mod errors;

use std::borrow::Cow;

use super::needs::Needs;
use super::notify::{deliver, deliver_before_reply};
use super::propagate::{self, Unit};
use super::repl::master;
use super::script::{Access, Flags, ScriptFlag};
use super::state::State;
use super::state::session::Closing;
use super::table::{self, Call, Command, Context, Flag};
use super::{busy, eviction, monitor, tracking};
use crate::store::effects::Targets;
use crate::wire::reply::{Error, Reply};
use errors::unknown;
pub(super) use errors::wrong_arity;

/// The outcome of a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Processed {
    Done,
    /// CLIENT PAUSE defers it: it has to be processed again.
    Postponed,
}

/// Checks a request in the order in which Redis does, then queues or calls it, and replies.
pub(super) fn process(state: &mut State, client: u64, args: &[&[u8]], wall_us: u64) -> Processed {
    state.current = Some(client);
    state.db.overdue = state.overdue_for(client);
    let session = state.client(client);
    session.active_us = wall_us;
    let db = session.db;
    state.db.select(db);
    if is_http(args[0]) {
        state.close(client, Closing::Now);
        return Processed::Done;
    }
    match check(state, client, args, wall_us) {
        Ok((command, needs)) if state.is_paused(client, needs) => {
            state.current = None;
            let session = state.client(client);
            session.postponed = true;
            session.last_command = command.name;
            return Processed::Postponed;
        }
        Ok((command, needs)) => {
            let session = state.client(client);
            if session.transaction.is_some() && !command.has(Flag::Unqueued) {
                queue(state, client, args, needs);
            } else {
                session.last_command = command.name;
                let mut call = Call {
                    state,
                    client,
                    args,
                    wall_us,
                    context: Context::Direct,
                };
                let reply = run(command, &mut call);
                answer(state, client, &reply);
                if state.busy.is_none() {
                    propagate::flush(state, Unit::Whole);
                    tracking::deliver_own(state, client);
                }
                after_command(state, client, command);
                let written = state.written();
                state.client(client).written = written;
            }
        }
        Err(error) => {
            let reply = reject(state, client, args, error);
            state.client(client).answer(&reply);
        }
    }
    state.current = None;
    let session = state.client(client);
    if session.blocked.is_none() {
        session.request_is_over();
    }
    Processed::Done
}

/// The first words of lines of HTTP (`securityWarningCommand`): a web page that makes a browser
/// post to this port must not have its text executed.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
}

/// Sends the reply of an executed command, and then its notifications.
pub(super) fn answer(state: &mut State, client: u64, reply: &Reply) {
    state.client(client).answer(reply);
    if !state.db.changes.is_empty() {
        deliver(state);
    }
    monitor::after_reply(state);
}

/// `queueMultiCommand`: a transaction that has failed already keeps no further command, and so does
/// not need what that would.
fn queue(state: &mut State, client: u64, args: &[&[u8]], needs: Needs) {
    let session = state.client(client);
    let watched = std::mem::take(&mut session.watched);
    let is_touched = watched.iter().any(|(db, key)| {
        state
            .db
            .within(*db, |db| db.touched_since_watch(key, client))
    });
    let session = state.client(client);
    session.watched = watched;
    if let Some(transaction) = &mut session.transaction
        && !transaction.refused
        && !is_touched
    {
        transaction.push(args, needs);
    }
    session.answer(&Reply::Status(Cow::Borrowed("QUEUED")));
}

/// `resetClient`: CLIENT CACHING applies to one command that is not CLIENT itself.
fn after_command(state: &mut State, client: u64, command: &Command) {
    let session = state.client(client);
    if let Some(tracking) = &mut session.tracking
        && session.transaction.is_none()
        && command.container() != Some("client")
    {
        tracking.caching = false;
    }
}

/// `rejectCommand`: a rejected command marks its transaction as failed, and a rejected EXEC ends
/// it.
fn reject(state: &mut State, client: u64, args: &[&[u8]], mut error: Error) -> Reply {
    let session = state.client(client);
    if args[0].eq_ignore_ascii_case(b"exec") {
        session.transaction = None;
        state.unwatch(client);
        let why = error.text().strip_prefix(b"ERR ").unwrap_or(error.text());
        error = Error::new([b"EXECABORT Transaction discarded because of: ", why].concat());
    } else if let Some(transaction) = &mut session.transaction {
        transaction.refused = true;
    }
    state.stats.reject(table::find(args), &error);
    error.into()
}

/// Calls a command that was checked when it was queued; [`answer`] sends its reply.
pub(super) fn call(call: &mut Call<'_>) -> Reply {
    match table::find(call.args) {
        Some(command) => run(command, call),
        None => unknown(call.args).into(),
    }
}

/// Executes a command of a script: `scriptCall` of `src/script.c`.
pub(super) fn call_from_script(call: &mut Call<'_>, access: Access) -> Reply {
    let command = table::find(call.args);
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
    if access == Access::ReadOnly && Needs::of_command(command).replicates {
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

fn run(command: &Command, call: &mut Call<'_>) -> Reply {
    call.state.stats.begin(command);
    monitor::begin(call, command);
    let tracks = call.session().tracking.is_some();
    let movable = command.has(Flag::MovableKeys);
    if tracks && movable && call.context != Context::Script {
        call.state.caches.declare(command.keys_of(call.args));
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

fn check(
    state: &mut State,
    client: u64,
    args: &[&[u8]],
    wall_us: u64,
) -> Result<(&'static Command, Needs), Error> {
    let command = table::find(args).ok_or_else(|| unknown(args))?;
    if !has_right_arity(command, args) {
        return Err(wrong_arity(command.name));
    }
    let session = state.client(client);
    if !session.authenticated && !command.has(Flag::NoAuth) {
        return Err(Error::of("NOAUTH Authentication required."));
    }
    if session.transaction.is_some() && command.has(Flag::NoMulti) {
        return Err(Error::of("ERR Command not allowed inside a transaction"));
    }
    let only_listens = session.only_listens();
    let in_transaction = session.transaction.is_some() && !command.has(Flag::EndsTransaction);
    let is_short = eviction::make_room(state, wall_us);
    let needs = Needs::of(state, client, command, args);
    if is_short && (needs.memory || in_transaction) {
        return Err(eviction::OUT_OF_MEMORY);
    }
    tracking::limit(state);
    if needs.writes && too_few_replicas(state, wall_us) {
        return Err(NO_REPLICAS);
    }
    if needs.writes && is_read_only(state, client) {
        return Err(READ_ONLY);
    }
    if only_listens && !command.has(Flag::WhileSubscribed) {
        return Err(Error::new(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT \
             / RESET are allowed in this context",
            command.name
        )));
    }
    if needs.fresh_data && is_stale(state) {
        return Err(MASTER_DOWN);
    }
    if let Some(error) = busy::refuses(state, command) {
        return Err(error);
    }
    // Those that no pause holds back must not use that.
    if state.counts_as_replica(client) && needs.touches_keyspace() {
        return Err(Error::of("ERR Replica can't interact with the keyspace"));
    }
    Ok((command, needs))
}

const NO_REPLICAS: Error = Error::of("NOREPLICAS Not enough good replicas to write.");

const READ_ONLY: Error = Error::of("READONLY You can't write against a read only replica.");

const MASTER_DOWN: Error =
    Error::of("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");

/// `min-replicas-to-write`: a master that lately received acknowledgements from too few replicas
/// rejects writes.
fn too_few_replicas(state: &State, wall_us: u64) -> bool {
    let wanted = state.config.min_replicas_to_write;
    wanted > 0
        && state.repl.link().is_none()
        && !state.loading
        && master::count_good(state, wall_us) < wanted
}

/// A replica executes only the writes of its master.
fn is_read_only(state: &State, client: u64) -> bool {
    state.repl.link().is_some()
        && state.config.replica_is_read_only()
        && !state.repl.is_master(client)
        && !state.loading
}

/// `replica-serve-stale-data no`: a replica without its master rejects most commands.
fn is_stale(state: &State) -> bool {
    let down = state.repl.link().is_some_and(|link| !link.is_up());
    down && !state.config.serves_stale_data()
}

/// Whether the number of words in a request is valid for its command.
fn has_right_arity(command: &Command, args: &[&[u8]]) -> bool {
    let expected = command.arity.unsigned_abs() as usize;
    args.len() == expected || (command.arity < 0 && args.len() > expected)
}
