//! From a request to a reply: `processCommand` of `src/server.c`.

use super::reply::{Error, Reply};
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
    let command = match check(args, session) {
        Ok(command) => command,
        Err(error) => {
            if let Some(transaction) = &mut session.transaction {
                transaction.refused = true;
            }
            return error.into();
        }
    };
    state.commands_processed += 1;
    let mut call = Call {
        state,
        session,
        args,
        wall_us,
    };
    (command.run)(&mut call).unwrap_or_else(Reply::Error)
}

fn check(args: &[&[u8]], session: &Session) -> Result<&'static Command, Error> {
    let command = table::find(args[0]).ok_or_else(|| unknown(args))?;
    let right = match command.arity {
        arity if arity >= 0 => args.len() == arity as usize,
        arity => args.len() >= arity.unsigned_abs() as usize,
    };
    if !right {
        return Err(wrong_arity(command.name));
    }
    if session.transaction.is_some() && command.flags.contains(&Flag::NoMulti) {
        return Err(Error::of("ERR Command not allowed inside a transaction"));
    }
    Ok(command)
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
pub(super) fn c_string(text: &[u8], max: usize) -> Vec<u8> {
    text.iter()
        .copied()
        .take(max)
        .take_while(|b| *b != 0)
        .collect()
}
