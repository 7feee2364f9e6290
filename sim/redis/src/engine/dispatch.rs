//! The path from a request to its reply: `processCommand` of `src/server.c`.

use super::command::{Call, Command, Context, Flag, Table};
use super::errors::{unknown, wrong_arity};
use super::execute::{
    MASTER_DOWN, NO_REPLICAS, READ_ONLY, answer, has_right_arity, is_read_only, is_stale, run,
    too_few_replicas,
};
use super::propagate::{self, Unit};
use super::state::State;
use super::state::requirements::Requirements;
use super::state::session::Closing;
use super::{busy, eviction, persist, requirements, tracking};
use crate::wire::reply::{Error, Reply};

/// The outcome of a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Processed {
    Done,
    /// CLIENT PAUSE defers it: it has to be processed again.
    Postponed,
}

/// Checks a request in the order in which Redis does, then queues or calls it, and replies.
pub(super) fn process(
    table: Table,
    state: &mut State,
    client: u64,
    args: &[&[u8]],
    wall_us: u64,
) -> Processed {
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
    match check(table, state, client, args, wall_us) {
        Ok((_, requirements)) if state.is_paused(client, requirements) => {
            state.current = None;
            let session = state.client(client);
            session.postponed = true;
            state.waiting.postponed.push(client);
            return Processed::Postponed;
        }
        Ok((command, requirements)) => {
            let session = state.client(client);
            if session.transaction.is_some() && !command.has(Flag::Unqueued) {
                queue(state, client, args, requirements);
            } else {
                let mut call = Call {
                    table,
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
        Err(_) if is_http_line(args) => {
            state.close(client, Closing::Now);
            return Processed::Done;
        }
        Err(error) => {
            let reply = extension(table, state, client, args)
                .unwrap_or_else(|| reject(table, state, client, args, error));
            state.client(client).answer(&reply);
        }
    }
    state.current = None;
    Processed::Done
}

/// The first words of lines of HTTP (`securityWarningCommand`): a web page that makes a browser
/// post to this port must not have its text executed.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
}

/// Whether a refused request is the first line of an HTTP request, `PUT /path HTTP/1.1`, of any method:
/// its text is not executed either, whether a header names a host or not.
fn is_http_line(words: &[&[u8]]) -> bool {
    matches!(words, [_, _, version] if version.starts_with(b"HTTP/"))
}

/// `queueMultiCommand`: a transaction that has failed already keeps no further command, and so does
/// not need what that would.
fn queue(state: &mut State, client: u64, args: &[&[u8]], requirements: Requirements) {
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
        transaction.push(args, requirements);
    }
    session.answer(&Reply::Status("QUEUED".into()));
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

/// The reply of the driver, if the command is one of its own.
fn extension(table: Table, state: &mut State, client: u64, args: &[&[u8]]) -> Option<Reply> {
    let answer = state.extension.clone()?;
    let session = state.client(client);
    if table.find(args).is_some() || !session.authenticated || session.transaction.is_some() {
        return None;
    }
    answer(args).map(Reply::from)
}

/// `rejectCommand`: a rejected command marks its transaction as failed, and a rejected EXEC ends
/// it.
fn reject(table: Table, state: &mut State, client: u64, args: &[&[u8]], mut error: Error) -> Reply {
    let command = table.find(args);
    let session = state.client(client);
    if command.is_some_and(|command| command.has(Flag::RunsQueue)) {
        session.transaction = None;
        state.unwatch(client);
        let why = error.text().strip_prefix(b"ERR ").unwrap_or(error.text());
        error = Error::new([b"EXECABORT Transaction discarded because of: ", why].concat());
    } else if let Some(transaction) = &mut session.transaction {
        transaction.refused = true;
    }
    state.stats.reject(command, &error);
    error.into()
}

fn check(
    table: Table,
    state: &mut State,
    client: u64,
    args: &[&[u8]],
    wall_us: u64,
) -> Result<(&'static Command, Requirements), Error> {
    let session = state.client(client);
    let Some(command) = table.find(args) else {
        session.last_command = "NULL";
        return Err(unknown(table, args));
    };
    session.last_command = command.name;
    if !has_right_arity(command, args) {
        return Err(wrong_arity(command.name));
    }
    if !session.authenticated && !command.has(Flag::NoAuth) {
        return Err(Error::of("NOAUTH Authentication required."));
    }
    if session.transaction.is_some() && command.has(Flag::NoMulti) {
        return Err(Error::of("ERR Command not allowed inside a transaction"));
    }
    let only_listens = session.only_listens();
    let in_transaction = session.transaction.is_some() && !command.has(Flag::EndsTransaction);
    let is_short = eviction::make_room(state, wall_us);
    let requirements = requirements::of_request(state, client, command, args);
    if is_short && (requirements.memory || in_transaction) {
        return Err(eviction::OUT_OF_MEMORY);
    }
    tracking::limit(state);
    if let Some(error) = persist::refuses(state, client, command, requirements.writes) {
        return Err(error);
    }
    if requirements.writes && too_few_replicas(state, wall_us) {
        return Err(NO_REPLICAS);
    }
    if requirements.writes && is_read_only(state, client) {
        return Err(READ_ONLY);
    }
    if only_listens && !command.has(Flag::WhileSubscribed) {
        return Err(Error::new(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT \
             / RESET are allowed in this context",
            command.name
        )));
    }
    if requirements.fresh_data && is_stale(state) {
        return Err(MASTER_DOWN);
    }
    if let Some(error) = busy::refuses(state, command) {
        return Err(error);
    }
    // Commands that no pause defers must not use that.
    if state.counts_as_replica(client) && requirements.touches_keyspace() {
        return Err(Error::of("ERR Replica can't interact with the keyspace"));
    }
    Ok((command, requirements))
}
