//! Between Lua's values and Redis's (`src/script_lua.c`).

use bytes::Bytes;
use mlua::{BorrowedBytes, Lua, MultiValue, Table, Value};

use crate::redis::float::general;
use crate::redis::reply::{Error, Reply};

/// How deep tables may nest in a script's value. (In Redis the stack of Lua sets
/// a limit, of some thousand.)
const MAX_DEPTH: usize = 500;

/// The first integer for which `%.17g` needs an exponent.
const WITHOUT_EXPONENT: u64 = 100_000_000_000_000_000;

/// The arguments of `redis.call`.
pub(super) struct Arguments<'a>(Vec<Argument<'a>>);

enum Argument<'a> {
    String(BorrowedBytes<'a>),
    Number(Vec<u8>),
}

impl<'a> Arguments<'a> {
    /// Reads the arguments; the inner error is for the script.
    pub(super) fn read(
        lua: &Lua,
        values: &'a MultiValue,
    ) -> mlua::Result<Result<Arguments<'a>, Error>> {
        let mut arguments = Vec::with_capacity(values.len());
        for value in values {
            arguments.push(match value {
                Value::String(text) => Argument::String(text.as_bytes()),
                Value::Integer(number) if number.unsigned_abs() < WITHOUT_EXPONENT => {
                    Argument::Number(number.to_string().into_bytes())
                }
                Value::Integer(number) => Argument::Number(shortest_17(lua, *number as f64)?),
                Value::Number(number) => Argument::Number(shortest_17(lua, *number)?),
                _ => {
                    return Ok(Err(Error::of(
                        "ERR Lua redis lib command arguments must be strings or integers",
                    )));
                }
            });
        }
        if arguments.is_empty() {
            return Ok(Err(Error::of(
                "ERR Please specify at least one argument for this redis lib call",
            )));
        }
        Ok(Ok(Arguments(arguments)))
    }

    pub(super) fn as_slices(&self) -> Vec<&[u8]> {
        self.0
            .iter()
            .map(|argument| match argument {
                Argument::String(text) => &text[..],
                Argument::Number(text) => text,
            })
            .collect()
    }
}

/// C's `%.17g`, which Lua's `string.format` hands through.
fn shortest_17(lua: &Lua, number: f64) -> mlua::Result<Vec<u8>> {
    let format: mlua::Function = lua.globals().get::<Table>("string")?.get("format")?;
    let text: mlua::String = format.call(("%.17g", number))?;
    Ok(text.as_bytes().to_vec())
}

/// `redisProtocolToLuaType`, for RESP2.
pub(super) fn from_reply(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    let single = |field: &str, text: &[u8]| {
        let table = lua.create_table_with_capacity(0, 1)?;
        table.raw_set(field, lua.create_string(text)?)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Status(text) => single("ok", text.as_bytes()),
        Reply::Error(error) => single("err", error.text()),
        Reply::Integer(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(bytes) => Ok(Value::String(lua.create_string(bytes)?)),
        Reply::Nil | Reply::NilArray => Ok(Value::Boolean(false)),
        Reply::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for item in items {
                table.raw_push(from_reply(lua, item)?)?;
            }
            Ok(Value::Table(table))
        }
        // A script speaks RESP2.
        Reply::Verbatim(text) => Ok(Value::String(lua.create_string(text)?)),
        Reply::Double(number) => Ok(Value::String(lua.create_string(general(*number, 17))?)),
        Reply::Map(pairs) | Reply::Pairs(pairs) => {
            let items = pairs.iter().flat_map(|(key, value)| [key, value]);
            from_reply(lua, &Reply::Array(items.cloned().collect()))
        }
        Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => {
            from_reply(lua, &Reply::Array(items.clone()))
        }
    }
}

/// `luaReplyToRedisReply`, for RESP2.
pub(super) fn to_reply(value: &Value) -> Reply {
    nested_to_reply(value, MAX_DEPTH)
}

fn nested_to_reply(value: &Value, depth: usize) -> Reply {
    match value {
        Value::String(_) => Reply::Bulk(Bytes::from(text(value))),
        Value::Boolean(true) => Reply::Integer(1),
        Value::Integer(number) => Reply::Integer(*number),
        Value::Number(number) => Reply::Integer(truncate(*number)),
        Value::Table(table) => table_to_reply(table, depth),
        _ => Reply::Nil,
    }
}

fn table_to_reply(table: &Table, depth: usize) -> Reply {
    if depth == 0 {
        return Error::of("ERR reached lua stack limit").into();
    }
    if let Ok(error @ Value::String(_)) = table.raw_get("err") {
        return Error::new(text(&error)).into();
    }
    if let Ok(status @ Value::String(_)) = table.raw_get("ok") {
        return Reply::Status(one_line(text(&status)).into());
    }
    let mut items = Vec::new();
    // An array ends at its first nil.
    for index in 1.. {
        match table.raw_get(index) {
            Ok(Value::Nil) | Err(_) => break,
            Ok(item) => items.push(nested_to_reply(&item, depth - 1)),
        }
    }
    Reply::Array(items)
}

fn one_line(text: Vec<u8>) -> String {
    String::from_utf8_lossy(&text).replace(['\r', '\n'], " ")
}

/// C's conversion of a `double` to a `long long`, as x86 has it: towards zero,
/// and the smallest number for whatever does not fit.
fn truncate(number: f64) -> i64 {
    // 2^63, the first number above.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// The bytes of a Lua string, or of a number as Lua writes it.
pub(super) fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        other => other.to_string().unwrap_or_default().into_bytes(),
    }
}
