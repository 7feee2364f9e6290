//! A text that becomes a Lua string: it counts as memory and as work before Lua has it.

use super::lua::{self, Lua, Value};
use super::{memory, meter};

/// The bytes of a [`Buffer`] that are counted as work at a time.
const BYTES_PER_COUNT: usize = 4096;

/// A text that becomes a Lua string.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// The bytes that are not counted as work yet.
    uncounted: usize,
}

impl Buffer {
    pub(super) fn push(&mut self, lua: &mut Lua, byte: u8) -> lua::Result<()> {
        self.extend(lua, &[byte])
    }

    pub(super) fn extend(&mut self, lua: &mut Lua, bytes: &[u8]) -> lua::Result<()> {
        self.reserve(lua, bytes.len())?;
        self.add(bytes);
        Ok(())
    }

    /// Adds bytes for which room was made.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes room, and counts the work of filling it.
    pub(super) fn reserve(&mut self, lua: &mut Lua, more: usize) -> lua::Result<()> {
        let needed = self.bytes.len().saturating_add(more);
        if needed > self.bytes.capacity() {
            let capacity = needed.max(2 * self.bytes.capacity()).max(64);
            memory::afford(lua, capacity)?;
            let before = self.bytes.capacity();
            self.bytes.reserve_exact(capacity - self.bytes.len());
            memory::resized(before, self.bytes.capacity());
        }
        self.uncounted += more;
        if self.uncounted >= BYTES_PER_COUNT {
            meter::count_bytes(lua, std::mem::take(&mut self.uncounted))?;
        }
        Ok(())
    }

    pub(super) fn into_string(self, lua: &mut Lua) -> lua::Result<Value> {
        meter::count_bytes(lua, self.uncounted)?;
        lua::string(lua, &self.bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        memory::resized(self.bytes.capacity(), 0);
    }
}
