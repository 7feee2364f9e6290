//! The memory of scripts.
//!
//! The interpreter counts the memory of a script's values, and ends the script at its next
//! instruction if they are too many. A library function asks for room before that.

use std::cell::Cell;

use lua_types::LuaError;

use super::lua::{self, Lua};

/// The limit on the values of all scripts of a thread while one runs, in bytes. Redis is only
/// limited by the machine's memory.
pub(super) const MAX_BYTES: usize = 256 << 20;

/// The amount of garbage after a script that is collected immediately, in bytes: the interpreter does not
/// collect when it meets a limit, so the next script would find no room. Smaller amounts can wait
/// until Lua collects them by itself, for a collection takes a hundred times as long as a short
/// script.
pub(super) const COLLECT_FROM_BYTES: usize = MAX_BYTES / 4;

/// The bytes that may remain after a collection. Beyond this the interpreter is renewed, so that there is always room
/// for a script.
pub(super) const MAX_KEPT_BYTES: usize = MAX_BYTES / 2;

/// The text of Lua's error (`MEMERRMSG`).
pub(super) const NOT_ENOUGH: &str = "not enough memory";

/// The memory of a string in a table in addition to its text, in bytes.
pub(super) const STRING_BYTES: usize = 64;

/// The memory that the interpreter's values take, in bytes.
pub(super) fn used(lua: &Lua) -> usize {
    lua.global().total_bytes()
}

/// Checks for room for this many bytes in addition to the values of the running script.
///
/// # Errors
///
/// Lua's own error for the script, if there is none.
pub(super) fn afford(lua: &Lua, bytes: usize) -> lua::Result<()> {
    match (used(lua) + BUFFERED.get()).saturating_add(bytes) <= MAX_BYTES {
        true => Ok(()),
        false => Err(none()),
    }
}

/// The error of an interpreter that has no memory, which the script can catch.
pub(super) fn none() -> LuaError {
    lua::error(NOT_ENOUGH)
}

thread_local! {
    /// The bytes of all buffers of this thread, which Lua does not have yet: a function that fills one
    /// may call a script that calls another.
    static BUFFERED: Cell<usize> = const { Cell::new(0) };
}

/// Counts a buffer of so many bytes that is now of that many.
pub(super) fn resized(before: usize, now: usize) {
    BUFFERED.set((BUFFERED.get() + now).saturating_sub(before));
}
