//! Functions of the `redis` table that can fail.

use std::cell::Cell;
use std::rc::Rc;

use super::commands::Commands;
use super::error::raise_text;
use super::lua::{self, Lua, Returned, Table, Value};
use super::meter;
use crate::store::effects::Targets;
use crate::wire::reply::Resp;

/// Creates these functions. `redis.setresp` sets `resp`.
pub(super) fn functions(
    lua: &mut Lua,
    resp: &Rc<Cell<Resp>>,
    commands: &Commands,
) -> lua::Result<Table> {
    let table = lua::library(lua, &[("sha1hex", sha1hex), ("log", log)])?;
    let call = commands.raising(lua, Rc::clone(resp));
    let pcall = commands.protected(lua, Rc::clone(resp));
    let commands = commands.clone();
    let set_repl = lua::function(lua, move |lua| {
        commands.set_targets(targets(lua)?);
        Ok(0)
    });
    let resp = Rc::clone(resp);
    let setresp = lua::function(lua, move |lua| {
        resp.set(setresp(lua)?);
        Ok(0)
    });
    for (name, function) in [
        ("call", call),
        ("pcall", pcall),
        ("set_repl", set_repl),
        ("setresp", setresp),
    ] {
        lua::set_field(lua, &table, name, function)?;
    }
    Ok(table)
}

fn sha1hex(lua: &mut Lua) -> Returned {
    let [value] = lua::arguments(lua)[..] else {
        return Err(raise_text(lua, "ERR wrong number of arguments"));
    };
    let text = lua::text(value);
    meter::count_bytes(lua, text.len())?;
    let digest = lua::string(lua, &super::digest(&text))?;
    lua::result(lua, digest)
}

/// `redis.log(level, message, …)`: does nothing, as a fake node has no log.
fn log(lua: &mut Lua) -> Returned {
    let arguments = lua::arguments(lua);
    if arguments.len() < 2 {
        return Err(raise_text(
            lua,
            "ERR redis.log() requires two arguments or more.",
        ));
    }
    match number(lua, &arguments) {
        None => Err(raise_text(
            lua,
            "ERR First argument must be a number (log level).",
        )),
        Some(0..=3) => Ok(0),
        Some(_) => Err(raise_text(lua, "ERR Invalid debug level.")),
    }
}

/// `redis.set_repl(flags)`: where commands are propagated from here on. 1 stands for the
/// append-only file, 2 for the replicas.
fn targets(lua: &mut Lua) -> lua::Result<Targets> {
    let arguments = lua::arguments(lua);
    match number(lua, &arguments) {
        _ if arguments.len() != 1 => Err(raise_text(
            lua,
            "ERR redis.set_repl() requires two arguments.",
        )),
        Some(flags @ 0..=3) => Ok(Targets {
            file: flags & 1 != 0,
            replicas: flags & 2 != 0,
        }),
        _ => Err(raise_text(
            lua,
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        )),
    }
}

/// `redis.setresp(2 or 3)`: the protocol in which the script sees replies from here on, and in
/// which its own value is interpreted.
fn setresp(lua: &mut Lua) -> lua::Result<Resp> {
    let arguments = lua::arguments(lua);
    match number(lua, &arguments) {
        _ if arguments.len() != 1 => Err(raise_text(
            lua,
            "ERR redis.setresp() requires one argument.",
        )),
        Some(2) => Ok(Resp::V2),
        Some(3) => Ok(Resp::V3),
        _ => Err(raise_text(lua, "ERR RESP version must be 2 or 3.")),
    }
}

/// The first argument, if it is a number or a string that is one, as C's `int`.
fn number(lua: &mut Lua, arguments: &[Value]) -> Option<i32> {
    let number = lua::to_number(lua, *arguments.first()?);
    number.map(|number| number as i32)
}
