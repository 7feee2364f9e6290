//! The table `redis` of scripts.

use std::cell::Cell;
use std::rc::Rc;

use super::commands::Commands;
use super::error::{self, raise_text};
use super::lua::{self, Lua, Returned, Table, Value, before_zero, truncate};
use super::meter;
use crate::store::effects::Targets;
use crate::wire::reply::Resp;

/// Creates the table. `redis.setresp` sets `resp`.
pub(super) fn functions(
    lua: &mut Lua,
    resp: &Rc<Cell<Resp>>,
    commands: &Commands,
) -> lua::Result<Table> {
    let table = lua::library(
        lua,
        &[
            ("breakpoint", |lua| lua::result(lua, Value::Bool(false))),
            ("debug", |_| Ok(0)),
            ("error_reply", error_reply),
            ("log", log),
            ("replicate_commands", |lua| {
                lua::result(lua, Value::Bool(true))
            }),
            ("sha1hex", sha1hex),
            ("status_reply", status_reply),
        ],
    )?;
    for (name, number) in [
        ("LOG_DEBUG", 0),
        ("LOG_VERBOSE", 1),
        ("LOG_NOTICE", 2),
        ("LOG_WARNING", 3),
        ("REPL_NONE", 0),
        ("REPL_AOF", 1),
        ("REPL_SLAVE", 2),
        ("REPL_REPLICA", 2),
        ("REPL_ALL", 3),
        ("REDIS_VERSION_NUM", 0x0007_000f),
    ] {
        lua::set_field(lua, &table, name, lua::number(number))?;
    }
    let version = lua::string(lua, b"7.0.15")?;
    lua::set_field(lua, &table, "REDIS_VERSION", version)?;
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

/// `redis.status_reply(text)`.
fn status_reply(lua: &mut Lua) -> Returned {
    let [text @ Value::Str(_)] = lua::arguments(lua)[..] else {
        return wrong_arguments(lua);
    };
    let reply = lua::table(lua, 0)?;
    lua::set_field(lua, &reply, "ok", text)?;
    lua::result(lua, Value::Table(reply))
}

/// `redis.error_reply(text)`: without a code, the code is ERR (`luaPushErrorBuff`).
fn error_reply(lua: &mut Lua) -> Returned {
    let [Value::Str(text)] = lua::arguments(lua)[..] else {
        return wrong_arguments(lua);
    };
    let text = before_zero(text.as_bytes());
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (code, message) = match text.iter().position(|byte| *byte == b' ') {
        Some(space) => (&text[..space], &text[space + 1..]),
        None => (&b"ERR"[..], text),
    };
    let message = lua::without(message, |byte| matches!(byte, b'\r' | b'\n'));
    let reply = error::table(lua, &[code, b" ", message].concat())?;
    lua::result(lua, Value::Table(reply))
}

fn wrong_arguments(lua: &mut Lua) -> Returned {
    let reply = error::table(lua, b"ERR wrong number or type of arguments")?;
    lua::result(lua, Value::Table(reply))
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
    match number(&arguments) {
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
    match number(&arguments).unwrap_or(0) {
        _ if arguments.len() != 1 => Err(raise_text(
            lua,
            "ERR redis.set_repl() requires two arguments.",
        )),
        flags @ 0..=3 => Ok(Targets {
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
    match number(&arguments) {
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
fn number(arguments: &[Value]) -> Option<i32> {
    let number = truncate(lua::to_number(*arguments.first()?)?);
    Some(i32::try_from(number).unwrap_or(i32::MIN))
}
