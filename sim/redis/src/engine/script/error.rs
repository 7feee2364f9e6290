//! Errors that functions of this crate raise in Lua: tables, as in Redis.

use lua_types::LuaError;

use super::lua::{self, Lua, Table, Value};
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
