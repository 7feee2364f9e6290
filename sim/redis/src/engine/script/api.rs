//! Functions of the `redis` table that can fail.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Lua, MultiValue, Table, Value};

use super::commands::Commands;
use super::convert;
use super::error::raise;
use super::meter::Meter;
use crate::store::effects::Targets;
use crate::wire::reply::{Error, Resp};

/// Creates these functions. `redis.setresp` sets `resp`.
pub(super) fn functions(
    lua: &Lua,
    resp: Rc<Cell<Resp>>,
    commands: &Commands,
) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("call", commands.raising(lua, Rc::clone(&resp))?)?;
    table.set("pcall", commands.protected(lua, Rc::clone(&resp))?)?;
    table.set("sha1hex", lua.create_function(sha1hex)?)?;
    table.set("log", lua.create_function(log)?)?;
    let commands = commands.clone();
    let set_repl = move |lua: &Lua, arguments| {
        commands.set_targets(targets(lua, &arguments)?);
        Ok(())
    };
    table.set("set_repl", lua.create_function(set_repl)?)?;
    let setresp = move |lua: &Lua, arguments| {
        resp.set(setresp(lua, &arguments)?);
        Ok(())
    };
    table.set("setresp", lua.create_function(setresp)?)?;
    Ok(table)
}

fn sha1hex(lua: &Lua, arguments: MultiValue) -> mlua::Result<mlua::LuaString> {
    let (Some(value), 1) = (arguments.front(), arguments.len()) else {
        return Err(raise(Error::of("ERR wrong number of arguments")));
    };
    if let Value::String(text) = value {
        Meter::count_bytes(lua, text.as_bytes().len())?;
    }
    lua.create_string(match value {
        Value::String(text) => super::digest(&text.as_bytes()),
        Value::Integer(_) | Value::Number(_) => super::digest(&convert::text(value)),
        _ => super::digest(b""),
    })
}

/// `redis.log(level, message, …)`: does nothing, as a fake node has no log.
fn log(lua: &Lua, arguments: MultiValue) -> mlua::Result<()> {
    if arguments.len() < 2 {
        return Err(raise(Error::of(
            "ERR redis.log() requires two arguments or more.",
        )));
    }
    match number(lua, &arguments) {
        None => Err(raise(Error::of(
            "ERR First argument must be a number (log level).",
        ))),
        Some(0..=3) => Ok(()),
        Some(_) => Err(raise(Error::of("ERR Invalid debug level."))),
    }
}

/// `redis.set_repl(flags)`: where commands are propagated from here on. 1 stands for the
/// append-only file, 2 for the replicas.
fn targets(lua: &Lua, arguments: &MultiValue) -> mlua::Result<Targets> {
    match number(lua, arguments) {
        _ if arguments.len() != 1 => Err(raise(Error::of(
            "ERR redis.set_repl() requires two arguments.",
        ))),
        Some(flags @ 0..=3) => Ok(Targets {
            file: flags & 1 != 0,
            replicas: flags & 2 != 0,
        }),
        _ => Err(raise(Error::of(
            "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ))),
    }
}

/// `redis.setresp(2 or 3)`: the protocol in which the script sees replies from here on, and in
/// which its own value is interpreted.
fn setresp(lua: &Lua, arguments: &MultiValue) -> mlua::Result<Resp> {
    match number(lua, arguments) {
        _ if arguments.len() != 1 => Err(raise(Error::of(
            "ERR redis.setresp() requires one argument.",
        ))),
        Some(2) => Ok(Resp::V2),
        Some(3) => Ok(Resp::V3),
        _ => Err(raise(Error::of("ERR RESP version must be 2 or 3."))),
    }
}

/// The first argument, if it is a number or a string that is one, as C's `int`.
fn number(lua: &Lua, arguments: &MultiValue) -> Option<i32> {
    let first = arguments.front()?.clone();
    let number = lua.coerce_number(first).ok().flatten();
    number.map(|number| number as i32)
}
