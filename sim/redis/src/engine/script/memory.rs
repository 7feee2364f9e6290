//! The memory of scripts: the limit, and buffers that count towards it before Lua has their bytes.
//!
//! Lua's own allocator counts the memory of a script's values. A library function builds such a
//! value in a [`Buffer`], which checks for room before it grows.

use mlua::{Lua, LuaString};

use super::error;
use super::meter::Meter;

/// The limit on the values of all scripts of a thread while one runs, in bytes. Redis is only
/// limited by the machine's memory.
pub(super) const MAX_BYTES: usize = 256 << 20;

/// The amount of garbage after a script that is collected immediately, in bytes: Lua 5.1 does not
/// collect when it meets a limit, so the next script would find no room. Smaller amounts can wait
/// until Lua collects them by itself, for a collection takes a hundred times as long as a short
/// script.
pub(super) const COLLECT_FROM_BYTES: usize = MAX_BYTES / 4;

/// The bytes that may remain after a collection. Beyond this the interpreter is renewed, so that there is always room for a script.
pub(super) const MAX_KEPT_BYTES: usize = MAX_BYTES / 2;

/// The text of Lua's error (`MEMERRMSG`).
pub(super) const NOT_ENOUGH: &str = "not enough memory";

/// The memory of a string in a table in addition to its text, in bytes.
pub(super) const STRING_BYTES: usize = 64;

/// Checks for room for this many bytes in addition to the values of the running script.
///
/// # Errors
///
/// Lua's own error for the script, if there is none.
pub(super) fn afford(lua: &Lua, bytes: usize) -> mlua::Result<()> {
    match has_room(lua, bytes) {
        true => Ok(()),
        false => Err(error::raise_message(NOT_ENOUGH.as_bytes().to_vec())),
    }
}

/// Like [`afford`], before a script runs.
///
/// # Errors
///
/// There is no room: then the error of an interpreter that has no memory.
pub(super) fn afford_before(lua: &Lua, bytes: usize) -> mlua::Result<()> {
    match has_room(lua, bytes) {
        true => Ok(()),
        false => Err(mlua::Error::MemoryError(NOT_ENOUGH.to_owned())),
    }
}

fn has_room(lua: &Lua, bytes: usize) -> bool {
    lua.used_memory().saturating_add(bytes) <= MAX_BYTES
}

/// The bytes of a [`Buffer`] that are counted as work at a time.
const BYTES_PER_COUNT: usize = 4096;

/// A text that becomes a Lua string.
pub(super) struct Buffer<'a> {
    lua: &'a Lua,
    bytes: Vec<u8>,
    /// The bytes that are not counted as work yet.
    uncounted: usize,
}

impl<'a> Buffer<'a> {
    pub(super) fn new(lua: &'a Lua) -> Self {
        Buffer {
            lua,
            bytes: Vec::new(),
            uncounted: 0,
        }
    }

    pub(super) fn push(&mut self, byte: u8) -> mlua::Result<()> {
        self.extend(&[byte])
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> mlua::Result<()> {
        self.reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn reserve(&mut self, more: usize) -> mlua::Result<()> {
        self.uncounted = self.uncounted.saturating_add(more);
        if self.uncounted >= BYTES_PER_COUNT {
            Meter::count_bytes(self.lua, std::mem::take(&mut self.uncounted))?;
        }
        let needed = self.bytes.len().saturating_add(more);
        if needed > self.bytes.capacity() {
            let capacity = needed.max(2 * self.bytes.capacity()).max(64);
            afford(self.lua, capacity)?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        Ok(())
    }

    pub(super) fn into_string(self) -> mlua::Result<LuaString> {
        Meter::count_bytes(self.lua, self.uncounted)?;
        self.lua.create_string(self.bytes)
    }
}
