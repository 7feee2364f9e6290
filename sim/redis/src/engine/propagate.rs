//! The propagation of commands to replicas and to the append-only file: their effects, not the
//! requests (`propagateNow` and related functions in `src/server.c`).
//!
//! A command that changed something is propagated as it was sent, unless it sets another form with
//! [`Call::propagate_as`]: a time to live becomes a point in time, a random choice becomes
//! explicit, and a script is propagated as the commands that it called. An expired key is
//! propagated as DEL, before the command that found it. The effects of one request are wrapped in
//! MULTI and EXEC if they are more than one command.

use bytes::Bytes;

use crate::store::effects::{Op, Targets};

use super::command::{Call, Command, Context, Flag};
use super::state::State;
use super::{persist, repl};

/// Whether several commands form a unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// They belong to one request: wrapped in MULTI and EXEC.
    Whole,
    /// Each is separate (`propagate_no_multi`).
    Parts,
}

impl Call<'_> {
    /// Propagates the command in these words instead of those of the request.
    pub(super) fn propagate_as(&mut self, words: &[&[u8]]) {
        let effects = &mut self.state.db.effects;
        if effects.wanted {
            let words = words.iter().map(|word| Bytes::copy_from_slice(word));
            effects.instead = Some(words.collect());
        }
    }
}

/// Records the propagation of a command that was called. `dirty_before` shows whether the command
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
    let db = Some(call.state.db.selected());
    call.state.db.effects.push(Op { db, words, targets });
}

/// Propagates the effects of a complete request (`propagatePendingCommands`).
pub(super) fn flush(state: &mut State, unit: Unit) {
    let effects = &mut state.db.effects;
    effects.instead = None;
    if effects.is_empty() {
        return;
    }
    let mut ops = effects.take();
    if ops.len() > 1 && unit == Unit::Whole {
        let bare = |name, db| Op {
            db,
            words: vec![Bytes::from_static(name)],
            targets: Targets::ALL,
        };
        ops.insert(0, bare(b"MULTI", ops[0].db));
        ops.push(bare(b"EXEC", None));
    }
    repl::feed(state, &ops);
    persist::feed(state, &ops);
}
