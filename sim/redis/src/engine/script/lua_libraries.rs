//! Functions of Lua's own libraries that replace those of the interpreter. The libraries that Redis adds
//! (`cjson`, `cmsgpack`, `struct`, `bit`) are missing: no script of a lock calls them.

mod base;
mod chunk;
mod coroutines;
mod format;
mod matching;
mod math;
mod patterns;
mod random;
mod sort;
mod strings;
mod tables;

use std::cell::Cell;
use std::rc::Rc;

use super::arguments::{self, Arguments};
use super::lua::{self, Lua, Returned, Table};
use super::random::Rand48;
use super::sandbox;

/// Gives scripts these functions, those of Redis, and the generator of random numbers. Returns the table of
/// their globals.
pub(super) fn install(
    lua: &mut Lua,
    redis: Table,
    generator: &Rc<Cell<Rand48>>,
) -> lua::Result<Table> {
    let string = lua::library(
        lua,
        &[
            ("byte", strings::byte),
            ("char", strings::char),
            ("dump", strings::dump),
            ("find", patterns::find),
            ("format", format::format),
            ("gsub", patterns::gsub),
            ("len", strings::len),
            ("lower", strings::lower),
            ("match", patterns::match_once),
            ("rep", strings::rep),
            ("reverse", strings::reverse),
            ("sub", strings::sub),
            ("upper", strings::upper),
        ],
    )?;
    let gmatch = patterns::gmatch(lua);
    for name in ["gmatch", "gfind"] {
        lua::set_field(lua, &string, name, gmatch)?;
    }
    let table = lua::library(
        lua,
        &[
            ("concat", tables::concat),
            ("foreach", tables::foreach),
            ("foreachi", tables::foreachi),
            ("getn", tables::getn),
            ("insert", tables::insert),
            ("maxn", tables::maxn),
            ("remove", tables::remove),
            ("setn", tables::setn),
            ("sort", sort::sort),
        ],
    )?;
    let coroutine = coroutines::library(lua)?;
    let math = math::library(lua)?;
    let (random, seed) = (
        random::random(lua, generator),
        random::seed_random(lua, generator),
    );
    lua::set_field(lua, &math, "random", random)?;
    lua::set_field(lua, &math, "randomseed", seed)?;
    let globals = base::library(lua)?;
    let no_such_name = lua::function(lua, no_such_name);
    let libraries = [
        ("coroutine", coroutine),
        ("math", math),
        ("redis", redis),
        ("string", string),
        ("table", table),
    ];
    let of_texts = strings::metatable(lua)?;
    sandbox::install(lua, globals, &libraries, of_texts, no_such_name)?;
    Ok(globals)
}

/// `luaSetErrorMetatable`: what a script gets of a name that a table of functions does not have.
fn no_such_name(lua: &mut Lua) -> Returned {
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
    let name = lua::before_zero(&name);
    Err(arguments::error(lua, [&before[..], name, b"'"].concat()))
}
