//! Lua: EVAL and its relatives, and FCALL, run here.
//!
//! Real Lua 5.1, as in Redis; without the feature `lua` every script and every library is
//! refused, with an error that says so (`no_engine`). An interpreter takes a sixth of a millisecond to
//! build, many times a run's share, so each thread keeps one and all its nodes
//! use it, run after run. What that must not change: a script finds the globals
//! read-only, and the random numbers are the node's own sequence, as is the set of
//! scripts that it *knows* (EVALSHA) and of its functions. Left out of what Redis offers:
//! the settings of `cjson`, and `redis.acl_check_cmd`.

#[cfg(feature = "lua")]
mod api;
#[cfg(feature = "lua")]
mod commands;
#[cfg(feature = "lua")]
mod convert;
#[cfg_attr(not(feature = "lua"), path = "no_engine.rs")]
mod engine;
mod flags;
#[cfg(feature = "lua")]
mod lib;
mod library;
#[cfg(feature = "lua")]
mod meter;
mod random;
#[cfg(feature = "lua")]
mod register;
mod shebang;

use std::cell::RefCell;

use super::table::Call;
use crate::wire::reply::{Answer, Error};
use engine::Engine;
pub(super) use flags::{Flags, ScriptFlag};
pub(super) use library::{Function, Library};
pub(super) use random::Rand48;

/// The SHA-1 of a script, in lower-case hexadecimal digits.
pub(super) type Sha = [u8; 40];

/// Whether a script may change the keyspace.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Access {
    ReadWrite,
    /// EVAL_RO, EVALSHA_RO, FCALL_RO, or the script's own flag `no-writes`.
    ReadOnly,
}

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
    /// The last script that was named, and its name: EVAL is mostly sent the same again.
    static NAMED: RefCell<Option<(Vec<u8>, Sha)>> = const { RefCell::new(None) };
}

/// The name that EVALSHA knows a script by.
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

/// A SHA-1 in any case.
pub(super) fn parse_sha(text: &[u8]) -> Option<Sha> {
    let mut sha: Sha = text.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// Compiles a script, if that has not been done yet.
///
/// # Errors
///
/// It has a wrong first line, or it is no Lua.
pub(super) fn compile(sha: &Sha, body: &[u8]) -> Result<(), Error> {
    with_engine(|engine| engine.script(sha, body).map(drop))
}

/// The flags that a script's first line declares, if there is such a line without a
/// mistake.
pub(super) fn declared_flags(body: &[u8]) -> Option<Flags> {
    shebang::parse(body).ok()?.flags
}

/// One run of a script or a function.
pub(super) struct Invocation<'a> {
    pub(super) program: Program<'a>,
    /// KEYS.
    pub(super) keys: &'a [&'a [u8]],
    /// ARGV.
    pub(super) argv: &'a [&'a [u8]],
    pub(super) access: Access,
}

/// What is run.
#[derive(Copy, Clone)]
pub(super) enum Program<'a> {
    Script {
        sha: &'a Sha,
        body: &'a [u8],
    },
    Function {
        name: &'a [u8],
        function: &'a Function,
    },
}

impl Program<'_> {
    /// The name that its errors have in them.
    pub(super) fn name(&self) -> &[u8] {
        match self {
            Program::Script { sha, .. } => &sha[..],
            Program::Function { name, .. } => name,
        }
    }
}

/// How far a script has run.
#[derive(Clone, Default)]
pub(super) struct Reading {
    /// The instructions so far, to the last count.
    pub(super) instructions: u64,
    /// The source and the line where the script was at the last count.
    pub(super) position: Option<String>,
    /// It ran for longer than it may, and was ended.
    pub(super) overrun: bool,
}

/// Runs a script for the client whose call this is; also says how long it ran.
///
/// # Errors
///
/// As [`compile`], or it may not run here and now. What goes wrong as it runs is its
/// answer.
pub(super) fn run(
    call: &mut Call<'_>,
    invocation: &Invocation<'_>,
) -> Result<(Answer, Reading), Error> {
    with_engine(|engine| engine.run(call, invocation))
}

/// The error of a script that is ended from outside where it last was seen.
pub(super) fn killed_error(name: &[u8], reading: &Reading) -> Error {
    engine::error_in(name, engine::KILLED.as_bytes(), reading.position.as_deref())
}

fn with_engine<T>(work: impl FnOnce(&mut Engine) -> Result<T, Error>) -> Result<T, Error> {
    ENGINE.with_borrow_mut(|engine| {
        let engine = match engine {
            Some(engine) => engine,
            None => engine.insert(Engine::new().map_err(|error| {
                Error::new(format!("ERR the Lua interpreter did not start: {error}"))
            })?),
        };
        work(engine)
    })
}
