//! The libraries that Redis adds to Lua: `cjson` and `cmsgpack`
//! (`deps/lua/src/lua_*.c`).
//!
//! Their functions keep no state between calls. So the settings of `cjson`, which in Redis
//! outlive the script that changes them, are missing.

mod arguments;
mod cjson;
mod cjson_decode;
mod cmsgpack;
mod random;

use mlua::{Lua, MultiValue, Table, Value};

use arguments::Arguments;
pub(super) use random::{random, seed_random};

/// The libraries, by name.
pub(super) fn tables(lua: &Lua) -> mlua::Result<Table> {
    let tables = lua.create_table()?;
    tables.set("cjson", cjson::table(lua)?)?;
    tables.set("cmsgpack", cmsgpack::table(lua)?)?;
    Ok(tables)
}

/// `luaSetErrorMetatable`: what a script gets of a name that a table of functions does not have.
/// Native, as a script may call it, too: see `redis.call` in the sandbox.
pub(super) fn no_such_name(lua: &Lua, values: MultiValue) -> mlua::Result<()> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    if values.len() != 2 {
        return Err(arguments.error("Wrong number of arguments to luaProtectedTableError"));
    }
    match &values[1] {
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {}
        _ => {
            return Err(arguments
                .error("Second argument to luaProtectedTableError must be a string or number"));
        }
    }
    let name = arguments.string(2)?;
    let before = b"Script attempted to access nonexistent global variable '";
    Err(arguments.error([&before[..], &name, b"'"].concat()))
}
