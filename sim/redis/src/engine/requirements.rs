//! The requirements of a request, which decide whether it is rejected or deferred before it runs
//! (`getCommandFlags`).
//!
//! The flags that a script declares replace the requirements of its command. EXEC has
//! the requirements of its queue, each command as it was when it was queued.

use super::command::{Command, Flag};
use super::script::{self, Flags, ScriptFlag};
use super::state::State;
use super::state::requirements::Requirements;

/// The requirements of this client's request for a known command.
pub(super) fn of_request(
    state: &State,
    client: u64,
    command: &Command,
    args: &[&[u8]],
) -> Requirements {
    if let Some(flags) = declared_flags(state, command, args) {
        return declared(&flags);
    }
    let own = command.requirements();
    let session = state.clients.get(&client);
    match session.and_then(|session| session.transaction.as_ref()) {
        Some(transaction) if command.has(Flag::RunsQueue) => own | transaction.requirements,
        _ => own,
    }
}

/// `scriptFlagsToCmdFlags`.
fn declared(flags: &Flags) -> Requirements {
    let writes = !flags.contains(&ScriptFlag::NoWrites);
    Requirements {
        writes,
        fresh_data: !flags.contains(&ScriptFlag::AllowStale),
        replicates: writes,
        reads: false,
        memory: writes && !flags.contains(&ScriptFlag::AllowOom),
    }
}

/// The flags that the script of a request declares.
fn declared_flags(state: &State, command: &Command, args: &[&[u8]]) -> Option<Flags> {
    if command.has(Flag::TakesScript) {
        return script::declared_flags(args[1]);
    }
    if command.has(Flag::TakesSha) {
        let sha = script::parse_sha(args[1])?;
        return script::declared_flags(state.scripts.get(&sha)?);
    }
    None
}
