//! The libraries that Redis adds to Lua: `cjson`, `cmsgpack`, `struct`, `bit`
//! (`deps/lua/src/lua_*.c`).
//!
//! Their functions keep no state between calls. So the settings of `cjson`, which in Redis
//! outlive the script that changes them, are missing.

mod arguments;
mod bit;
mod cjson;
mod cjson_decode;
mod cmsgpack;
mod structs;

use mlua::{Lua, Table};

/// The libraries, by name.
pub(super) fn tables(lua: &Lua) -> mlua::Result<Table> {
    let tables = lua.create_table()?;
    tables.set("bit", bit::table(lua)?)?;
    tables.set("cjson", cjson::table(lua)?)?;
    tables.set("cmsgpack", cmsgpack::table(lua)?)?;
    tables.set("struct", structs::table(lua)?)?;
    Ok(tables)
}
