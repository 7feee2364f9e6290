//! What a script can see: the globals of Redis 7.0.15's Lua, and nothing that one run could leave to the next.
//!
//! Redis marks tables read-only in a patched Lua. Here a script gets an empty stand-in for each table
//! that is to stay as it is: its metatable reads through to the table and refuses writes, and so do the
//! functions that go past metatables.

use lua_types::LuaError;

use super::arguments;
use super::lua::{self, Lua, Returned, Table, Value};

const READ_ONLY: &str = "Attempt to modify a readonly table";

/// The fields of a stand-in's metatable: the table behind it, the metatable that scripts see, and what
/// tells it from all tables of scripts, which have no such value.
const BEHIND: &str = "__index";
const SHOWN: &str = "shown";
const MARK: (&str, Value) = ("__metatable", Value::LightUserData(std::ptr::null_mut()));

/// Gives scripts these globals and libraries, and texts this metatable.
pub(super) fn install(
    lua: &mut Lua,
    globals: Table,
    libraries: &[(&str, Table)],
    of_texts: Table,
    no_such_name: Value,
) -> lua::Result<()> {
    let main_thread = lua.global().main_thread_id;
    let environment = protect(lua, globals)?;
    lua.v51_set_thread_lgt(main_thread, Value::Table(environment));
    lua::set_field(lua, &globals, "_G", Value::Table(environment))?;
    for (name, library) in libraries {
        let library = protect(lua, *library)?;
        lua::set_field(lua, &globals, name, Value::Table(library))?;
    }
    let shown = with_index(lua, no_such_name)?;
    globals.set_metatable(Some(shown));
    let shown = protect(lua, shown)?;
    if let Some(meta) = environment.metatable() {
        lua::set_field(lua, &meta, SHOWN, Value::Table(shown))?;
    }
    // Methods of strings are looked up in the metatable that all strings share.
    if let Value::Table(string) = globals.get_str_bytes(b"string") {
        lua::set_field(lua, &of_texts, "__index", Value::Table(behind(string)))?;
        let shown = with_index(lua, Value::Table(string))?;
        let shown = protect(lua, shown)?;
        lua::set_field(lua, &of_texts, MARK.0, Value::Table(shown))?;
        let text = lua::string(lua, b"")?;
        lua::results(lua, &[text, Value::Table(of_texts)])?;
        lua_vm::api::set_metatable(lua, -2)?;
        lua.pop();
    }
    Ok(())
}

/// A table whose field `__index` is this value.
fn with_index(lua: &mut Lua, index: Value) -> lua::Result<Table> {
    let table = lua::table(lua, 0)?;
    lua::set_field(lua, &table, "__index", index)?;
    Ok(table)
}

/// A stand-in for a table.
fn protect(lua: &mut Lua, table: Table) -> lua::Result<Table> {
    let meta = with_index(lua, Value::Table(table))?;
    let refuse = lua::function(lua, |lua| -> Returned {
        Err(arguments::error(lua, READ_ONLY))
    });
    lua::set_field(lua, &meta, "__newindex", refuse)?;
    lua::set_field(lua, &meta, MARK.0, MARK.1)?;
    let stand_in = lua::table(lua, 0)?;
    stand_in.set_metatable(Some(meta));
    Ok(stand_in)
}

/// The metatable of a stand-in.
fn meta(table: &Table) -> Option<Table> {
    let meta = table.metatable()?;
    (meta.get_str_bytes(MARK.0.as_bytes()) == MARK.1).then_some(meta)
}

/// The table that a stand-in is for; other tables are themselves.
pub(super) fn behind(table: Table) -> Table {
    match meta(&table).map(|meta| meta.get_str_bytes(BEHIND.as_bytes())) {
        Some(Value::Table(behind)) => behind,
        _ => table,
    }
}

/// Checks that a table is no stand-in.
///
/// # Errors
///
/// Lua's, if it is one.
pub(super) fn writable(table: &Table) -> lua::Result<()> {
    match meta(table) {
        None => Ok(()),
        Some(_) => Err(LuaError::RuntimeMsg(READ_ONLY.as_bytes().into())),
    }
}

/// The metatable that scripts see of a stand-in; none if the table is another.
pub(super) fn shown_metatable(table: &Table) -> Option<Value> {
    meta(table).map(|meta| meta.get_str_bytes(SHOWN.as_bytes()))
}
