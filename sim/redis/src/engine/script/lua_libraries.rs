//! Functions of Lua's own libraries that replace those of the interpreter. The libraries that Redis adds
//! (`cjson`, `cmsgpack`, `struct`, `bit`) are missing: no script of a lock calls them.

mod arguments;
mod counted;
mod format;
mod matching;
mod patterns;
mod random;
mod sort;
mod strings;
mod tables;

use arguments::Arguments;
pub(super) use counted::{counted, replacements};
pub(super) use random::{random, seed_random};

use super::lua::{self, Lua, Returned, Value};
use super::meter;

/// `luaSetErrorMetatable`: what a script gets of a name that a table of functions does not have.
/// Native, as a script may call it, too: see `redis.call` in the sandbox.
pub(super) fn no_such_name(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    if arguments.len() != 2 {
        return Err(arguments::error(
            lua,
            "Wrong number of arguments to luaProtectedTableError",
        ));
    }
    let Ok(name) = arguments.string(lua, 2) else {
        let why = "Second argument to luaProtectedTableError must be a string or number";
        return Err(arguments::error(lua, why));
    };
    let before = b"Script attempted to access nonexistent global variable '";
    Err(arguments::error(lua, [&before[..], &name, b"'"].concat()))
}

/// `compiles(text)`: counts the work of reading a text, and watches the script from here on.
pub(super) fn compiles(lua: &mut Lua) -> Returned {
    meter::follow(lua);
    if let Some(Value::Str(text)) = lua::arguments(lua).first() {
        meter::count_bytes(lua, text.len())?;
    }
    Ok(0)
}
