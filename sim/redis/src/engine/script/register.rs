//! `redis.register_function`, with which a library registers its functions.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use locklab_vecmap::VecMap;
use mlua::{Lua, MultiValue, Table, Value};

use super::convert;
use super::error::{raise, raise_text};
use super::flags::{Flags, ScriptFlag};
use super::library::Registered;
use super::shebang::{INVALID_NAME, is_valid_name};

/// The functions of the library that is being loaded; `None` if none is.
pub(super) type Loading = Rc<RefCell<Option<VecMap<Bytes, Registered>>>>;

/// `redis.register_function`, in both forms: with a name and a function, and with a table of
/// named arguments.
pub(super) fn register_function(lua: &Lua, loading: Loading) -> mlua::Result<mlua::Function> {
    lua.create_function(move |lua, arguments: MultiValue| {
        let mut functions = loading.borrow_mut();
        let Some(functions) = functions.as_mut() else {
            return Err(raise_text(
                "ERR redis.register_function can only be called on FUNCTION LOAD command",
            ));
        };
        let arguments: Vec<Value> = arguments.into_iter().collect();
        let (name, function) = match &arguments[..] {
            [Value::Table(named)] => from_named(lua, named)?,
            [_] => {
                return Err(raise_text(
                    "ERR calling redis.register_function with a single argument is only \
                     applicable to Lua table (representing named arguments).",
                ));
            }
            [name, callback] => from_positions(lua, name, callback)?,
            _ => {
                return Err(raise_text(
                    "ERR wrong number of arguments to redis.register_function",
                ));
            }
        };
        if !is_valid_name(&name) {
            return Err(raise(INVALID_NAME));
        }
        if functions.contains_key(&name) {
            return Err(raise_text("ERR Function already exists in the library"));
        }
        functions.insert(name, function);
        Ok(())
    })
}

fn from_positions(lua: &Lua, name: &Value, callback: &Value) -> mlua::Result<(Bytes, Registered)> {
    let name = string(name).ok_or_else(|| {
        raise_text("ERR first argument to redis.register_function must be a string")
    })?;
    let Value::Function(callback) = callback else {
        return Err(raise_text(
            "ERR second argument to redis.register_function must be a function",
        ));
    };
    let function = Registered {
        description: None,
        flags: Flags::new(),
        callback: lua.create_registry_value(callback)?,
    };
    Ok((name, function))
}

/// `luaRegisterFunctionReadNamedArgs`.
fn from_named(lua: &Lua, arguments: &Table) -> mlua::Result<(Bytes, Registered)> {
    let (mut name, mut callback, mut description) = (None, None, None);
    let mut flags = Flags::new();
    for pair in arguments.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let key = string(&key).ok_or_else(|| {
            raise_text("ERR named argument key given to redis.register_function is not a string")
        })?;
        match &key.to_ascii_lowercase()[..] {
            b"function_name" => {
                name = Some(string(&value).ok_or_else(|| {
                    raise_text(
                        "ERR function_name argument given to redis.register_function must be a \
                         string",
                    )
                })?);
            }
            b"description" => {
                description = Some(string(&value).ok_or_else(|| {
                    raise_text(
                        "ERR description argument given to redis.register_function must be a \
                         string",
                    )
                })?);
            }
            b"callback" => match value {
                Value::Function(function) => callback = Some(function),
                _ => {
                    return Err(raise_text(
                        "ERR callback argument given to redis.register_function must be a \
                         function",
                    ));
                }
            },
            b"flags" => match value {
                Value::Table(names) => flags = read_flags(&names)?,
                _ => {
                    return Err(raise_text(
                        "ERR flags argument to redis.register_function must be a table \
                         representing function flags",
                    ));
                }
            },
            _ => {
                return Err(raise_text(
                    "ERR unknown argument given to redis.register_function",
                ));
            }
        }
    }
    let name = name.ok_or_else(|| {
        raise_text("ERR redis.register_function must get a function name argument")
    })?;
    let callback = callback
        .ok_or_else(|| raise_text("ERR redis.register_function must get a callback argument"))?;
    let function = Registered {
        description,
        flags,
        callback: lua.create_registry_value(callback)?,
    };
    Ok((name, function))
}

fn read_flags(names: &Table) -> mlua::Result<Flags> {
    let mut flags = Flags::new();
    for index in 1.. {
        let name: Value = names.get(index)?;
        if name.is_nil() {
            break;
        }
        let flag = string(&name).and_then(|name| ScriptFlag::named(&name));
        flags.insert(flag.ok_or_else(|| raise_text("ERR unknown flag given"))?);
    }
    Ok(flags)
}

/// `luaGetStringSds`: a string, or a number in Lua's format.
fn string(value: &Value) -> Option<Bytes> {
    match value {
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {
            Some(Bytes::from(convert::text(value)))
        }
        _ => None,
    }
}
