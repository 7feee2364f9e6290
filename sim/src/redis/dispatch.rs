//! From a request to a reply: `processCommand` of `src/server.c`.

use std::borrow::Cow;

use bytes::Bytes;

use super::reply::{Error, Reply};
use super::script::Access;
use super::session::Session;
use super::state::State;
use super::table::{self, Call, Command, Flag};

/// Checks a request in Redis's order, then queues or calls it.
pub(super) fn process(
    state: &mut State,
    session: &mut Session,
    args: &[&[u8]],
    wall_us: u64,
) -> Reply {
    let command = match check(args) {
        Ok(command) => command,
        Err(error) => {
            return reject(state, session, args, error);
        }
    };
    if let Some(transaction) = &mut session.transaction
        && !UNQUEUED.contains(&command.name)
    {
        let copy = args.iter().map(|arg| Bytes::copy_from_slice(arg));
        transaction.queue.push(copy.collect());
        return Reply::Status(Cow::Borrowed("QUEUED"));
    }
    let mut call = Call {
        state,
        session,
        args,
        wall_us,
    };
    run(command, &mut call)
}

/// `rejectCommand`: a refused command spoils the transaction that it was meant for,
/// and a refused EXEC ends it.
fn reject(state: &mut State, session: &mut Session, args: &[&[u8]], error: Error) -> Reply {
    if args[0].eq_ignore_ascii_case(b"exec") {
        session.transaction = None;
        session.unwatch(&mut state.db);
        let why = error.text().strip_prefix(b"ERR ").unwrap_or(error.text());
        let text = [b"EXECABORT Transaction discarded because of: ", why].concat();
        return Error::new(text).into();
    }
    if let Some(transaction) = &mut session.transaction {
        transaction.refused = true;
    }
    error.into()
}

/// Calls a command that was checked when it was queued.
pub(super) fn call(call: &mut Call<'_>) -> Reply {
    match table::find(call.args) {
        Some(command) => run(command, call),
        None => unknown(call.args).into(),
    }
}

/// A command of a script: `scriptCall` of `src/script.c`.
pub(super) fn call_from_script(call: &mut Call<'_>, access: Access) -> Reply {
    let Some(command) = table::find(call.args) else {
        return Error::of("ERR Unknown Redis command called from script").into();
    };
    if !has_right_arity(command, call.args) {
        return Error::of("ERR Wrong number of args calling Redis command from script").into();
    }
    if command.flags.contains(&Flag::NoScript) {
        return Error::of("ERR This Redis command is not allowed from script").into();
    }
    if access == Access::ReadOnly && command.flags.contains(&Flag::Write) {
        return Error::of("ERR Write commands are not allowed from read-only scripts.").into();
    }
    run(command, call)
}

/// What a transaction does not queue.
const UNQUEUED: [&str; 6] = ["exec", "discard", "multi", "watch", "quit", "reset"];

fn run(command: &Command, call: &mut Call<'_>) -> Reply {
    call.state.commands_processed += 1;
    (command.run)(call).unwrap_or_else(Reply::Error)
}

fn check(args: &[&[u8]]) -> Result<&'static Command, Error> {
    let command = table::find(args).ok_or_else(|| unknown(args))?;
    if has_right_arity(command, args) {
        Ok(command)
    } else {
        Err(wrong_arity(command.name))
    }
}

/// Whether a request has as many words as its command takes.
fn has_right_arity(command: &Command, args: &[&[u8]]) -> bool {
    let expected = command.arity.unsigned_abs() as usize;
    args.len() == expected || (command.arity < 0 && args.len() > expected)
}

/// The error for a wrong number of words; `name` as in `client|setname`.
pub(super) fn wrong_arity(name: &str) -> Error {
    Error::new(format!(
        "ERR wrong number of arguments for '{name}' command"
    ))
}

/// The error for a name that is in no table, with as much of the request as Redis
/// shows: 128 bytes of the name, and of the other words together.
fn unknown(args: &[&[u8]]) -> Error {
    if table::is_container(args[0]) {
        let mut text = b"ERR unknown subcommand '".to_vec();
        text.extend_from_slice(&c_string(args[1], 128));
        text.extend_from_slice(b"'. Try ");
        text.extend_from_slice(&args[0].to_ascii_uppercase());
        text.extend_from_slice(b" HELP.");
        return Error::new(text);
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(&c_string(args[0], 128));
    text.extend_from_slice(b"', with args beginning with: ");
    let start = text.len();
    for arg in &args[1..] {
        let shown = text.len() - start;
        if shown >= 128 {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(&c_string(arg, 128 - shown));
        text.extend_from_slice(b"' ");
    }
    Error::new(text)
}

/// What C prints of a string: up to a NUL, and up to `max` bytes.
fn c_string(text: &[u8], max: usize) -> Vec<u8> {
    text.iter()
        .copied()
        .take(max)
        .take_while(|b| *b != 0)
        .collect()
}
