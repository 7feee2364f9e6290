//! What is told to replicas and written to the append-only file: the effects of
//! commands, not the requests (`propagateNow` and its surroundings in `src/server.c`).
//!
//! A command that changed something is passed on as it was sent, unless it says
//! otherwise with [`Call::propagate_as`]: a time to live becomes a point in time, what
//! was drawn by chance is named, a script leaves only the commands that it called. A
//! key whose time was over is passed on as DEL, before the command that found it. What
//! one request did is wrapped in MULTI and EXEC if it is more than one command.

use bytes::Bytes;

use crate::store::effects::{Op, Targets};

use super::state::State;
use super::table::{Call, Command, Context, Flag};
use super::{persist, repl};

/// Whether several commands belong together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// They are one request's: wrapped in MULTI and EXEC.
    Whole,
    /// Each by itself (`propagate_no_multi`).
    Parts,
}

impl Call<'_> {
    /// The command is passed on in these words, not in those of the request.
    pub(super) fn propagate_as(&mut self, words: &[&[u8]]) {
        let effects = &mut self.state.db.effects;
        if effects.wanted {
            let words = words.iter().map(|word| Bytes::copy_from_slice(word));
            effects.instead = Some(words.collect());
        }
    }
}

/// A command was called: notes what is to be passed on. `dirty_before` tells whether it
/// changed anything.
pub(super) fn record(call: &mut Call<'_>, command: &Command, dirty_before: u64) {
    let effects = &mut call.state.db.effects;
    let instead = effects.instead.take();
    let of_command = if command.has(Flag::ToReplicas) {
        Targets::REPLICAS
    } else if effects.dirty == dirty_before || !command.has(Flag::Write) {
        return;
    } else {
        Targets::ALL
    };
    let targets = match call.context {
        Context::Script => of_command.and(effects.script_targets),
        Context::Direct | Context::Transaction => of_command,
    };
    if !targets.file && !targets.replicas {
        return;
    }
    let copy = |word: &&[u8]| Bytes::copy_from_slice(word);
    let words = match instead {
        Some(words) => words,
        None => call.args.iter().map(copy).collect(),
    };
    effects.ops.push(Op { words, targets });
}

/// A request is done: passes on what it did (`propagatePendingCommands`).
pub(super) fn flush(state: &mut State, unit: Unit) {
    let effects = &mut state.db.effects;
    effects.instead = None;
    if effects.ops.is_empty() {
        return;
    }
    let mut ops = std::mem::take(&mut effects.ops);
    if ops.len() > 1 && unit == Unit::Whole {
        let bare = |name| Op {
            words: vec![Bytes::from_static(name)],
            targets: Targets::ALL,
        };
        ops.insert(0, bare(b"MULTI"));
        ops.push(bare(b"EXEC"));
    }
    repl::feed(state, &ops);
    persist::feed(state, &ops);
}

/// A client that waited was served: notes by which command.
pub(super) fn record_served(state: &mut State) {
    let effects = &mut state.db.effects;
    if let Some(words) = effects.instead.take() {
        let targets = Targets::ALL;
        effects.ops.push(Op { words, targets });
    }
}
