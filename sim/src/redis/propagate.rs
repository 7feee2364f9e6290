//! What is told to replicas and written to the append-only file: the effects of
//! commands, not the requests (`propagateNow` and its surroundings in `src/server.c`).
//!
//! A command that changed something is passed on as it was sent, unless it says
//! otherwise with [`Call::propagate_as`]: a time to live becomes a point in time, what
//! was drawn by chance is named, a script leaves only the commands that it called. A
//! key whose time was over is passed on as DEL, before the command that found it. What
//! one request did is wrapped in MULTI and EXEC if it is more than one command.

use bytes::{BufMut, Bytes, BytesMut};

use super::state::State;
use super::table::{Call, Command, Context, Flag};
use super::{persist, repl};

/// What happened since it was last passed on; kept by the keyspace, whose own doing
/// some of it is.
#[derive(Default)]
pub(super) struct Effects {
    /// Whether anybody is told. While nobody is, nothing is kept.
    pub(super) wanted: bool,
    /// How often something changed since the server started (`server.dirty`, never
    /// set back).
    pub(super) dirty: u64,
    ops: Vec<Op>,
    /// How the command that runs wants to be passed on, if not as it was sent.
    instead: Option<Vec<Bytes>>,
    /// Whom the script that runs, or ran last, wants told of its commands
    /// (`redis.set_repl`).
    pub(super) script_targets: Targets,
}

/// One command to pass on.
pub(super) struct Op {
    pub(super) words: Vec<Bytes>,
    pub(super) targets: Targets,
}

/// Who is told (`PROPAGATE_AOF`, `PROPAGATE_REPL`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Targets {
    pub(super) file: bool,
    pub(super) replicas: bool,
}

impl Targets {
    pub(super) const ALL: Targets = Targets {
        file: true,
        replicas: true,
    };
    /// Messages are not written to the file.
    pub(super) const REPLICAS: Targets = Targets {
        file: false,
        replicas: true,
    };

    /// Those that are in both.
    fn and(self, other: Targets) -> Targets {
        Targets {
            file: self.file && other.file,
            replicas: self.replicas && other.replicas,
        }
    }
}

impl Default for Targets {
    fn default() -> Self {
        Targets::ALL
    }
}

/// Whether several commands belong together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// They are one request's: wrapped in MULTI and EXEC.
    Whole,
    /// Each by itself (`propagate_no_multi`).
    Parts,
}

impl Effects {
    /// A key's time was over, and it was deleted.
    pub(super) fn expired(&mut self, key: &[u8]) {
        if self.wanted {
            let words = vec![Bytes::from_static(b"DEL"), Bytes::copy_from_slice(key)];
            let targets = Targets::ALL;
            self.ops.push(Op { words, targets });
        }
    }

    /// Forgets what was not passed on.
    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.instead = None;
    }
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
    let of_command = match command.name {
        "publish" | "spublish" => Targets::REPLICAS,
        _ if effects.dirty == dirty_before || !command.flags.contains(&Flag::Write) => return,
        _ => Targets::ALL,
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

/// Appends a command as a client would send it.
pub(super) fn encode<W: AsRef<[u8]>>(words: &[W], out: &mut BytesMut) {
    out.put_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        out.put_slice(format!("${}\r\n", word.len()).as_bytes());
        out.put_slice(word);
        out.put_slice(b"\r\n");
    }
}

/// Whether a command belongs to no database: SELECT does not come before it.
pub(super) fn is_of_no_database(op: &Op) -> bool {
    let name = op.words.first().map_or(&b""[..], |word| word);
    [&b"MULTI"[..], b"EXEC", b"PING", b"REPLCONF"].contains(&name)
}

/// A client that waited was served: notes by which command.
pub(super) fn record_served(state: &mut State) {
    let effects = &mut state.db.effects;
    if let Some(words) = effects.instead.take() {
        let targets = Targets::ALL;
        effects.ops.push(Op { words, targets });
    }
}
