//! Functions of Lua's library `string` with Redis's bounds and errors (`lstrlib.c`).

use super::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, MAX_SLOTS, Returned};

/// `string.rep(text, times)`.
pub(super) fn rep(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let times = arguments.int(lua, 2)?.max(0) as usize;
    let mut repeated = Buffer::default();
    repeated.reserve(lua, text.len().saturating_mul(times))?;
    if !text.is_empty() {
        for _ in 0..times {
            repeated.add(&text);
        }
    }
    let repeated = repeated.into_string(lua)?;
    lua::result(lua, repeated)
}

/// `string.byte(text [, first [, last]])`.
pub(super) fn byte(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let position = |number: i64| match number < 0 {
        true => number.saturating_add(text.len() as i64 + 1).max(0),
        false => number,
    };
    let first = position(arguments.optional_integer(lua, 2, 1)?);
    let last = position(arguments.optional_integer(lua, 3, first)?);
    let first = first.max(1) as usize - 1;
    let bytes = text
        .get(first..text.len().min(last as usize))
        .unwrap_or_default();
    if bytes.len() + arguments.len() > MAX_SLOTS {
        return Err(arguments::error(lua, "string slice too long"));
    }
    let bytes: Vec<_> = bytes.iter().map(|byte| lua::number(*byte)).collect();
    lua::results(lua, &bytes)
}

/// `string.char(code, …)`.
pub(super) fn char(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let mut text = Vec::with_capacity(arguments.len());
    for index in 1..=arguments.len() {
        let code = arguments.int(lua, index)?;
        let code = u8::try_from(code);
        text.push(code.map_err(|_| arguments::bad(lua, index, "invalid value"))?);
    }
    let text = lua::string(lua, &text)?;
    lua::result(lua, text)
}
