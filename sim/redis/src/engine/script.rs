//! Lua: runs EVAL and its relatives.
//!
//! Redis has PUC's Lua 5.1; here it is omniLua, which speaks that. What a script may take is bounded:
//! instructions (`meter`), memory (`memory`), nested calls (200, by the interpreter) and patterns
//! (`lua_libraries/matching.rs`); bytecode is not loaded. A table is iterated in the interpreter's
//! order, which is another than in Redis; of keys that are texts or numbers it is the same in every run.
//!
//! Creating an interpreter takes a tenth of a
//! millisecond, too much for each run, so each thread keeps one, which all its nodes use in all
//! runs. Sharing must not be visible: the globals are read-only for scripts, and each node has its
//! own sequence of random numbers and its own set of scripts that it *knows* (EVALSHA). An interpreter
//! that fails is replaced, and the next script finds a new one. Missing compared to Redis: the libraries that Redis adds to Lua,
//! and `redis.acl_check_cmd`.
//!
//! A node lends the interpreter its state for a run (`commands.rs`), because creating the functions for
//! each run would cost more than the run.
//!
//! A script runs to its end immediately, because no time passes between two calls of a node; the effects
//! of a script with many instructions are held back until its time is over (`busy.rs`). Yielding within
//! a script is not possible: the interpreter's hook cannot yield. So on a served node, where a script takes
//! real time, the driver does not get the node back either; the node asks the driver for what others have
//! sent (`state/other_clients.rs`) and answers them from within the script, as Redis does. `Node` keeps the
//! inputs of its connections in `State` for that, since a script's commands have the state and nothing else.

mod api;
mod arguments;
mod brief;
mod buffer;
mod commands;
mod convert;
mod engine;
mod error;
mod flags;
mod lua;
mod lua_libraries;
mod memory;
mod meter;
mod random;
mod sandbox;
mod shebang;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::command::Call;
use super::state::Sha;
use crate::wire::reply::{Answer, Error};
use engine::Engine;
pub(super) use flags::{Access, Flags, ScriptFlag};
pub(super) use random::Rand48;

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
    /// The last script that was hashed, and its SHA-1: EVAL usually gets the same script again.
    static NAMED: RefCell<Option<(Vec<u8>, Sha)>> = const { RefCell::new(None) };
}

/// The SHA-1 by which EVALSHA finds a script.
pub(super) fn sha(body: &[u8]) -> Sha {
    NAMED.with_borrow_mut(|named| match named {
        Some((named, sha)) if named == body => *sha,
        _ => {
            let sha = digest(body);
            *named = Some((body.to_vec(), sha));
            sha
        }
    })
}

fn digest(body: &[u8]) -> Sha {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut sha = [0; 40];
    let digest = sha1_smol::Sha1::from(body).digest().bytes();
    for (digits, byte) in sha.chunks_exact_mut(2).zip(digest) {
        digits[0] = DIGITS[usize::from(byte >> 4)];
        digits[1] = DIGITS[usize::from(byte & 15)];
    }
    sha
}

/// Parses a SHA-1, ignoring case.
pub(super) fn parse_sha(text: &[u8]) -> Option<Sha> {
    let mut sha: Sha = text.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// Compiles a script, unless it is in the cache.
///
/// # Errors
///
/// Its first line is invalid, or it is not valid Lua.
pub(super) fn compile(sha: &Sha, body: &[u8]) -> Result<(), Error> {
    with_engine(|engine| engine.script(sha, body).map(drop))
}

/// The flags that a script's first line declares, if there is a valid first line.
pub(super) fn declared_flags(body: &[u8]) -> Option<Flags> {
    shebang::parse(body).ok()?.flags
}

/// One run of a script.
pub(super) struct Invocation<'a> {
    /// Its name in the messages of its errors.
    pub(super) sha: &'a Sha,
    pub(super) body: &'a [u8],
    /// KEYS.
    pub(super) keys: &'a [&'a [u8]],
    /// ARGV.
    pub(super) argv: &'a [&'a [u8]],
    pub(super) access: Access,
}

/// The progress of a script.
#[derive(Clone, Default)]
pub(super) struct Reading {
    /// The number of instructions, as of the last count.
    pub(super) instructions: u64,
    /// The source and the line of the script's position at the last count.
    pub(super) position: Option<String>,
    /// It exceeded its limit, and was ended.
    pub(super) overrun: bool,
}

/// Runs a script for the client of this call; also returns how long it ran.
///
/// # Errors
///
/// Those of [`compile`], or the script may not run in the current state. An error while it runs
/// is part of its answer.
pub(super) fn run(
    call: &mut Call<'_>,
    invocation: &Invocation<'_>,
) -> Result<(Answer, Reading), Error> {
    with_engine(|engine| engine.run(call, invocation))
}

/// The error of a script that is ended from outside, at its last known position.
pub(super) fn killed_error(sha: &Sha, reading: &Reading) -> Error {
    engine::killed(sha, reading)
}

fn with_engine<T>(work: impl FnOnce(&mut Engine) -> Result<T, Error>) -> Result<T, Error> {
    ENGINE.with_borrow_mut(|kept| {
        let engine = match kept {
            Some(engine) => engine,
            None => kept.insert(Engine::new().map_err(|error| {
                Error::new(format!("ERR the Lua interpreter did not start: {error}"))
            })?),
        };
        // A panic is a bug. It fails the script that caused it, and no other client notices. The
        // state that it left in the interpreter is unknown, so the next script gets a new one.
        catch_unwind(AssertUnwindSafe(|| work(engine))).unwrap_or_else(|_| {
            *kept = None;
            Err(Error::of("ERR Lua: the interpreter failed, and is renewed"))
        })
    })
}
