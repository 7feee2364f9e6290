//! What a request needs of its server, so that it may be rejected or deferred before it runs
//! (`getCommandFlags`).
//!
//! A script or a function that declares flags needs what these say, instead of what its command
//! might. EXEC needs what its queue does, each command as it was when it was queued.

use super::script::{self, Flags, ScriptFlag};
use super::state::State;
pub(super) use super::state::needs::Needs;
use super::table::{Command, Flag};

impl Needs {
    /// Those of this client's request, whose command is known.
    pub(super) fn of(state: &State, client: u64, command: &Command, args: &[&[u8]]) -> Self {
        if let Some(flags) = declared_flags(state, command, args) {
            return Needs::declared(&flags);
        }
        let own = Needs::of_command(command);
        let session = state.clients.get(&client);
        match session.and_then(|session| session.transaction.as_ref()) {
            Some(transaction) if command.has(Flag::RunsQueue) => own | transaction.needs,
            _ => own,
        }
    }

    /// Those of a command, of whose arguments nothing is known.
    pub(super) fn of_command(command: &Command) -> Self {
        let writes = command.has(Flag::Write);
        Needs {
            writes,
            fresh_data: !command.has(Flag::Stale),
            replicates: writes || command.has(Flag::MayReplicate),
            reads: command.has(Flag::ReadOnly),
            memory: command.has(Flag::DenyOom),
        }
    }

    /// `scriptFlagsToCmdFlags`.
    fn declared(flags: &Flags) -> Self {
        let writes = !flags.contains(&ScriptFlag::NoWrites);
        Needs {
            writes,
            fresh_data: !flags.contains(&ScriptFlag::AllowStale),
            replicates: writes,
            reads: false,
            memory: writes && !flags.contains(&ScriptFlag::AllowOom),
        }
    }
}

/// The flags that the script or the function of a request declares.
fn declared_flags(state: &State, command: &Command, args: &[&[u8]]) -> Option<Flags> {
    if command.has(Flag::TakesScript) {
        return script::declared_flags(args[1]);
    }
    if command.has(Flag::TakesSha) {
        let sha = script::parse_sha(args[1])?;
        return script::declared_flags(state.scripts.get(&sha)?);
    }
    if command.has(Flag::TakesFunction) {
        let (_, function) = state.functions.find(args[1])?;
        return Some(function.flags.clone());
    }
    None
}
