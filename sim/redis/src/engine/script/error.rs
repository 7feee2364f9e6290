//! Errors in Lua: tables, as in Redis.

use lua_types::LuaError;

use super::lua::{self, Lua, Returned, Table, Value};
use super::{arguments, sandbox};
use crate::wire::reply::Error;

/// Raises an error reply in Lua.
pub(super) fn raise(lua: &mut Lua, error: &Error) -> LuaError {
    thrown(table(lua, error.text()))
}

/// Raises the error reply of a command in Lua.
pub(super) fn raise_of_command(lua: &mut Lua, error: &Error) -> LuaError {
    thrown(table_of_command(lua, error.text()))
}

/// Raises an error in Lua, from a text that includes the code.
pub(super) fn raise_text(lua: &mut Lua, text: &'static str) -> LuaError {
    raise(lua, &Error::of(text))
}

fn thrown(table: lua::Result<Table>) -> LuaError {
    table.map_or_else(
        |error| error,
        |table| LuaError::Runtime(Value::Table(table)),
    )
}

/// The table for an error with this text.
pub(super) fn table(lua: &mut Lua, text: &[u8]) -> lua::Result<Table> {
    let table = lua::table(lua, 0)?;
    let text = lua::string(lua, text)?;
    lua::set_field(lua, &table, "err", text)?;
    Ok(table)
}

/// The table for the error reply of a command, which was counted when the command gave it
/// (`redisProtocolToLuaType_Error`).
pub(super) fn table_of_command(lua: &mut Lua, text: &[u8]) -> lua::Result<Table> {
    let table = table(lua, text)?;
    lua::set_field(lua, &table, "ignore_error_stats_update", Value::Bool(true))?;
    Ok(table)
}

/// Completes an error as Lua 5.1 has it, if the function at this level raised it, and is one of Lua: then
/// it is the interpreter's own. Some of those lack the place, and some name a constant.
pub(super) fn completed(lua: &mut Lua, level: i32, error: Value) -> Option<Vec<u8>> {
    let Value::Str(text) = error else { return None };
    let mut whole = arguments::position(lua, level);
    if whole.is_empty() {
        return None;
    }
    let text = text.as_bytes();
    let text = text.strip_prefix(&whole[..]).unwrap_or(text);
    let find = |wanted: &[u8]| text.windows(wanted.len()).position(|at| at == wanted);
    let end = text.windows(5).rposition(|at| at == b"' (a ");
    let (before, after) = match (find(b" constant '"), find(b"\0"), end) {
        (Some(start), _, Some(end)) => (&text[..=start], &text[end + 3..text.len() - 1]),
        (None, Some(zero), Some(end)) => (&text[..zero], &text[end..]),
        _ => (text, &b""[..]),
    };
    whole.extend_from_slice(before);
    whole.extend_from_slice(after);
    Some(whole)
}

/// The handler of `pcall`: the completed error.
pub(super) fn complete(lua: &mut Lua) -> Returned {
    let error = arguments::Arguments::of(lua).value(1);
    let error = match completed(lua, 1, error) {
        Some(text) => lua::string(lua, &text)?,
        None => error,
    };
    lua::result(lua, error)
}

/// The handler of `xpcall`: calls the script's handler, its upvalue, with the completed error.
pub(super) fn handle_by(lua: &mut Lua) -> Returned {
    complete(lua)?;
    let error = lua.pop();
    let handler = lua::called(lua).map_or(Value::Nil, |closure| closure.upvalues.borrow()[0]);
    lua::call(lua, &[handler, error], 1)?;
    Ok(1)
}

/// The fields of an error of a script: its text, and the source and the line that it came from.
const PARTS: [&str; 3] = ["err", "source", "line"];

/// `__redis__err__handler`: makes an error a table, with the place that it came from.
pub(super) fn handle(lua: &mut Lua) -> Returned {
    let table = match lua::arguments(lua)[..] {
        [Value::Table(error), ..] => error,
        ref other => {
            let error = other.first().copied().unwrap_or(Value::Nil);
            let error = completed(lua, 1, error).unwrap_or_else(|| lua::displayed(error));
            table(lua, &[b"ERR ", &error[..]].concat())?
        }
    };
    if let Err(error) = sandbox::writable(&table) {
        // As Redis's handler fails, whose own error it is.
        let why = error.message_lossy();
        let table = self::table(lua, format!("ERR err_handler_def:10: {why}").as_bytes())?;
        set_place(lua, table, b"@err_handler_def", 10)?;
        return lua::result(lua, Value::Table(table));
    }
    let raised_by = arguments::frame(lua, 1, b"Sl");
    let place = match raised_by {
        Some(function) if function.what == Some(b"C") => arguments::frame(lua, 2, b"Sl"),
        other => other,
    };
    if let Some(place) = place {
        let source = place.source.unwrap_or_default();
        set_place(lua, table, arguments::source(&source), place.currentline)?;
    }
    lua::result(lua, Value::Table(table))
}

fn set_place(lua: &mut Lua, table: Table, source: &[u8], line: i32) -> lua::Result<()> {
    let source = lua::string(lua, source)?;
    for (name, value) in PARTS[1..].iter().zip([source, lua::number(line)]) {
        let name = lua::string(lua, name.as_bytes())?;
        lua.table_set_with_tm(&Value::Table(table), name, value)?;
    }
    Ok(())
}

/// Returns the [`PARTS`] of an error (`luaExtractErrorInformation`).
pub(super) fn parts(lua: &mut Lua) -> Returned {
    let error = arguments::Arguments::of(lua).value(1);
    for name in PARTS {
        let name = lua::string(lua, name.as_bytes())?;
        let part = lua.table_get_with_tm(&error, &name)?;
        lua.push(part);
    }
    Ok(PARTS.len())
}
