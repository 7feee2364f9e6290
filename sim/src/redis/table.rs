//! The command table: name, arity, flags, function.
//!
//! Arity as in Redis: the number of words with the command's own; negative means
//! at least that many.

use super::cmd;
use super::reply::Answer;
use super::session::Session;
use super::state::State;

/// A command that the server knows.
pub(super) struct Command {
    /// Lower case.
    pub(super) name: &'static str,
    pub(super) arity: i32,
    pub(super) flags: Flags,
    /// First key, last key (negative: from the end), step; zeros for none.
    pub(super) keys: (i32, i32, i32),
    pub(super) run: fn(&mut Call<'_>) -> Answer,
}

/// Flags of a command, as `COMMAND INFO` names them.
pub(super) type Flags = &'static [Flag];

/// One property of a command that something depends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Flag {
    /// May change the keyspace.
    Write,
    /// Reads the keyspace.
    ReadOnly,
    /// Takes constant or logarithmic time.
    Fast,
    /// May not be called from a script.
    NoScript,
    /// May not be queued in a transaction.
    NoMulti,
}

/// One call of a command: whose it is, when, and with what.
pub(super) struct Call<'a> {
    pub(super) state: &'a mut State,
    pub(super) session: &'a mut Session,
    /// The words of the request, the command's own first.
    pub(super) args: &'a [&'a [u8]],
    /// The node's wall clock, in microseconds since the Unix epoch. One reading
    /// for a command, a transaction or a script.
    pub(super) wall_us: u64,
}

impl Call<'_> {
    /// The node's wall clock in milliseconds, the unit of expiry.
    pub(super) fn now_ms(&self) -> i64 {
        (self.wall_us / 1000) as i64
    }
}

/// Finds a command by its name in any case.
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    let order = |command: &Command| {
        let name = name.iter().map(u8::to_ascii_lowercase);
        command.name.bytes().cmp(name)
    };
    let at = COMMANDS.binary_search_by(order).ok()?;
    Some(&COMMANDS[at])
}

use Flag::*;

/// Every command, by name.
pub(super) static COMMANDS: &[Command] = &[
    command("del", -2, &[Write], (1, -1, 1), cmd::del::del),
    command("get", 2, &[ReadOnly, Fast], (1, 1, 1), cmd::get::get),
    command("set", -3, &[Write], (1, 1, 1), cmd::set::set),
];

const fn command(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: (i32, i32, i32),
    run: fn(&mut Call<'_>) -> Answer,
) -> Command {
    Command {
        name,
        arity,
        flags,
        keys,
        run,
    }
}
