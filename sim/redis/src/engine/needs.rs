//! What a request needs of its server, so that it may be rejected or deferred before it runs
//! (`getCommandFlags`).
//!
//! A script or a function that declares flags needs what these say, instead of what its command
//! might. EXEC needs what its queue does, each command as it was when it was queued.

use std::ops::BitOr;

use super::script::{self, Flags, ScriptFlag};
use super::state::State;
use super::table::{Command, Flag};

/// The requirements of a request.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Needs {
    /// It may change the keyspace.
    pub(super) writes: bool,
    /// It does not work on a replica without its master.
    pub(super) fresh_data: bool,
    /// It may change the keyspace, or send something to replicas: `CMD_WRITE |
    /// CMD_MAY_REPLICATE`.
    pub(super) replicates: bool,
    /// It reads the keyspace, and nothing else.
    pub(super) reads: bool,
    /// It may need memory: it is refused when memory is short.
    pub(super) memory: bool,
}

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

    /// Whether it uses the keyspace in any way.
    pub(super) fn touches_keyspace(self) -> bool {
        self.replicates || self.reads
    }
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs {
            writes: self.writes || other.writes,
            fresh_data: self.fresh_data || other.fresh_data,
            replicates: self.replicates || other.replicates,
            reads: self.reads || other.reads,
            memory: self.memory || other.memory,
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
