//! Errors that functions of this crate raise in Lua.
//!
//! They raise errors through mlua, which shows them to Lua as userdata; the
//! sandbox turns these into the tables that Redis raises.

use std::fmt;

use mlua::{Lua, Table, Value};

use crate::wire::reply::Error;

/// Raises an error reply in Lua.
pub(super) fn raise(error: Error) -> mlua::Error {
    mlua::Error::external(Raised::Reply(error))
}

/// Raises the error reply of a command in Lua.
pub(super) fn raise_of_command(error: Error) -> mlua::Error {
    mlua::Error::external(Raised::OfCommand(error))
}

/// Raises a string in Lua, as Lua's own libraries do.
pub(super) fn raise_message(text: Vec<u8>) -> mlua::Error {
    mlua::Error::external(Raised::Message(text))
}

/// Raises an error in Lua, from a text that includes the code.
pub(super) fn raise_text(text: &'static str) -> mlua::Error {
    raise(Error::of(text))
}

/// The value that a script sees of an error. An error made by [`raise`], or by mlua itself,
/// appears as a table with its text; one made by [`raise_message`] as the text. Other values are
/// unchanged.
pub(super) fn visible(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let Value::Error(error) = error else {
        return Ok(error);
    };
    Ok(match raised(*error) {
        Raised::Message(text) => Value::String(lua.create_string(text)?),
        Raised::Reply(error) => Value::Table(table(lua, error.text())?),
        Raised::OfCommand(error) => Value::Table(table_of_command(lua, error.text())?),
    })
}

/// The table for an error with this text.
pub(super) fn table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set("err", lua.create_string(text)?)?;
    Ok(table)
}

/// The table for the error reply of a command, which was counted when the command gave it
/// (`redisProtocolToLuaType_Error`).
pub(super) fn table_of_command(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 2)?;
    table.raw_set("err", lua.create_string(text)?)?;
    table.raw_set("ignore_error_stats_update", true)?;
    Ok(table)
}

fn raised(error: mlua::Error) -> Raised {
    match error {
        mlua::Error::CallbackError { cause, .. } => raised((*cause).clone()),
        error => match error.downcast_ref::<Raised>() {
            Some(raised) => raised.clone(),
            None => Raised::Reply(Error::new(format!("ERR {error}"))),
        },
    }
}

#[derive(Clone, Debug)]
enum Raised {
    Reply(Error),
    OfCommand(Error),
    Message(Vec<u8>),
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(match self {
            Raised::Reply(error) | Raised::OfCommand(error) => error.text(),
            Raised::Message(text) => text,
        }))
    }
}

impl std::error::Error for Raised {}
