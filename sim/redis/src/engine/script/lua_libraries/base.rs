//! Functions of Lua without a library (`lbaselib.c`), and Redis's `pcall`.

use lua_types::LuaError;
use lua_types::closure::LuaCFnPtr;
use lua_vm::api;

use super::{chunk, tables};
use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Returned, Table, Value, before_zero};
use crate::engine::script::{error, sandbox};

/// The memory that scripts see, in kB: another number would differ from run to run.
const MEMORY_KB: f64 = 64.0;

/// A table of these functions.
pub(super) fn library(lua: &mut Lua) -> lua::Result<Table> {
    let base = lua::library(
        lua,
        &[
            ("assert", assert),
            ("collectgarbage", collect_garbage),
            ("error", raise),
            ("gcinfo", |lua| lua::result(lua, lua::number(MEMORY_KB))),
            ("getmetatable", get_metatable),
            ("load", chunk::load),
            ("loadstring", chunk::load_string),
            ("next", next),
            ("rawequal", raw_equal),
            ("rawget", raw_get),
            ("rawset", raw_set),
            ("select", select),
            ("setmetatable", set_metatable),
            ("tonumber", to_number),
            ("tostring", to_string),
            ("type", type_of),
            ("unpack", tables::unpack),
        ],
    )?;
    for (name, step, first) in [
        ("pairs", next as lua::Native, Value::Nil),
        ("ipairs", next_index, lua::number(0)),
    ] {
        let step = lua::function(lua, step);
        let iterate = lua::function(lua, move |lua| {
            let table = Arguments::of(lua).table(lua, 1)?;
            lua::results(lua, &[step, Value::Table(table), first])
        });
        lua::set_field(lua, &base, name, iterate)?;
    }
    let complete = lua::function(lua, error::complete);
    let pcall = lua::function(lua, move |lua| pcall(lua, complete));
    let handle_by = lua::registered(lua, error::handle_by);
    let xpcall = lua::function(lua, move |lua| xpcall(lua, handle_by));
    for (name, function) in [("pcall", pcall), ("xpcall", xpcall)] {
        lua::set_field(lua, &base, name, function)?;
    }
    let version = lua::string(lua, b"Lua 5.1")?;
    lua::set_field(lua, &base, "_VERSION", version)?;
    Ok(base)
}

/// `assert(value [, message])`.
fn assert(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    if arguments.any(lua, 1)?.is_truthy() {
        return Ok(arguments.len());
    }
    let message = arguments.optional_string(lua, 2, b"assertion failed!")?;
    Err(arguments::error(lua, message))
}

/// `collectgarbage([option])`: does nothing, as the interpreter collects by itself.
fn collect_garbage(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let option = arguments.optional_string(lua, 1, b"collect")?;
    arguments.optional_int(lua, 2, 0)?;
    let result = match &option[..] {
        b"collect" | b"stop" | b"restart" => lua::number(0),
        b"count" => lua::number(MEMORY_KB),
        b"setpause" | b"setstepmul" => lua::number(200),
        b"step" => Value::Bool(false),
        _ => {
            let why = [b"invalid option '", &option[..], b"'"].concat();
            return Err(arguments::bad(lua, 1, why));
        }
    };
    lua::result(lua, result)
}

/// `error(value [, level])`.
fn raise(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let level = arguments.optional_int(lua, 2, 1)?;
    match arguments.value(1) {
        text @ (Value::Str(_) | Value::Int(_) | Value::Float(_)) if level > 0 => {
            let position = arguments::position(lua, level as i32);
            Err(lua::error([position, lua::text(text)].concat()))
        }
        value => Err(LuaError::Runtime(value)),
    }
}

/// `type(value)`.
fn type_of(lua: &mut Lua) -> Returned {
    let name = Arguments::of(lua).any(lua, 1)?.type_name();
    let name = lua::string(lua, name.as_bytes())?;
    lua::result(lua, name)
}

/// `tostring(value)`.
fn to_string(lua: &mut Lua) -> Returned {
    let value = Arguments::of(lua).any(lua, 1)?;
    let converts = meta_field(lua, value, "__tostring");
    if !converts.is_nil() {
        lua::call(lua, &[converts, value], 1)?;
        return Ok(1);
    }
    let text = lua::string(lua, &lua::displayed(value))?;
    lua::result(lua, text)
}

/// `luaL_getmetafield`: a field of the metatable of a value; nil if it has none.
fn meta_field(lua: &mut Lua, value: Value, name: &str) -> Value {
    let meta = lua.table_metatable(&value);
    meta.map_or(Value::Nil, |meta| meta.get_str_bytes(name.as_bytes()))
}

/// `tonumber(value [, base])`.
fn to_number(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let base = arguments.optional_int(lua, 2, 10)?;
    let number = match base {
        10 => lua::to_number(arguments.any(lua, 1)?),
        _ => {
            let text = arguments.string(lua, 1)?;
            if !(2..=36).contains(&base) {
                return Err(arguments::bad(lua, 2, "base out of range"));
            }
            in_base(before_zero(&text), base as u32)
        }
    };
    lua::result(lua, number.map_or(Value::Nil, Value::Float))
}

/// C's `strtoul`, which must read all of the text.
fn in_base(text: &[u8], base: u32) -> Option<f64> {
    let text = lua::trimmed(text);
    let (sign, digits) = match text.split_first()? {
        (sign @ (b'+' | b'-'), digits) => (*sign, digits),
        _ => (b'+', text),
    };
    let digits = match digits {
        [b'0', b'x' | b'X', digits @ ..] if base == 16 && !digits.is_empty() => digits,
        digits => digits,
    };
    let mut number = (!digits.is_empty()).then_some(0_u64)?;
    let mut is_too_large = false;
    for digit in digits {
        let digit = char::from(*digit).to_digit(base)?;
        let next = number.checked_mul(base.into());
        let next = next.and_then(|number| number.checked_add(digit.into()));
        is_too_large |= next.is_none();
        number = next.unwrap_or(u64::MAX);
    }
    Some(match sign {
        b'-' if !is_too_large => number.wrapping_neg(),
        _ if is_too_large => u64::MAX,
        _ => number,
    } as f64)
}

/// `select(index or '#', …)`.
fn select(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let count = arguments.len() as i64;
    if let Value::Str(text) = arguments.value(1)
        && text.as_bytes().first() == Some(&b'#')
    {
        return lua::result(lua, lua::number(count as f64 - 1.0));
    }
    let index = match arguments.int(lua, 1)?.into() {
        index if index < 0 => count + index,
        index => count.min(index),
    };
    if index < 1 {
        return Err(arguments::bad(lua, 1, "index out of range"));
    }
    Ok((count - index) as usize)
}

/// `next(table [, key])`.
fn next(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = sandbox::behind(arguments.table(lua, 1)?);
    match tables::after(&table, arguments.value(2))? {
        Some((key, value)) => lua::results(lua, &[key, value]),
        None => lua::result(lua, Value::Nil),
    }
}

/// The function that `ipairs` returns.
fn next_index(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let index = arguments.int(lua, 2)?.wrapping_add(1);
    match arguments.table(lua, 1)?.get_int(index.into()) {
        Value::Nil => Ok(0),
        value => lua::results(lua, &[lua::number(index), value]),
    }
}

/// `rawequal(one, other)`.
fn raw_equal(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let (one, other) = (arguments.any(lua, 1)?, arguments.any(lua, 2)?);
    lua::result(lua, Value::Bool(lua.equal_obj(None, &one, &other)))
}

/// `rawget(table, key)`.
fn raw_get(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = sandbox::behind(arguments.table(lua, 1)?);
    let key = arguments.any(lua, 2)?;
    lua::result(lua, table.get(&key))
}

/// `rawset(table, key, value)`.
fn raw_set(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let (key, value) = (arguments.any(lua, 2)?, arguments.any(lua, 3)?);
    sandbox::writable(&table)?;
    match key {
        Value::Nil => return Err(lua::error("table index is nil")),
        Value::Float(number) if number.is_nan() => {
            return Err(lua::error("table index is NaN"));
        }
        _ => lua::set(lua, &table, key, value)?,
    }
    lua::result(lua, Value::Table(table))
}

/// `getmetatable(value)`.
fn get_metatable(lua: &mut Lua) -> Returned {
    let value = Arguments::of(lua).any(lua, 1)?;
    let of_stand_in = match value {
        Value::Table(table) => sandbox::shown_metatable(&table),
        _ => None,
    };
    let shown = match (of_stand_in, meta_field(lua, value, "__metatable")) {
        (Some(shown), _) => shown,
        (None, Value::Nil) => lua.table_metatable(&value).map_or(Value::Nil, Value::Table),
        (None, shown) => shown,
    };
    lua::result(lua, shown)
}

/// `setmetatable(table, metatable)`.
fn set_metatable(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let meta = match (arguments.len(), arguments.value(2)) {
        (2.., meta @ (Value::Nil | Value::Table(_))) => meta,
        _ => return Err(arguments::bad(lua, 2, "nil or table expected")),
    };
    sandbox::writable(&table)?;
    if !meta_field(lua, Value::Table(table), "__metatable").is_nil() {
        return Err(arguments::error(lua, "cannot change a protected metatable"));
    }
    lua::results(lua, &[Value::Table(table), meta])?;
    api::set_metatable(lua, -2)?;
    Ok(1)
}

/// `luaRedisPcall`: of an error that is a table, `pcall` returns the text. `handler` is
/// [`error::complete`].
fn pcall(lua: &mut Lua, handler: Value) -> Returned {
    let mut call = lua::arguments(lua);
    if call.is_empty() {
        // Redis calls what is to be the first result.
        call.push(Value::Bool(true));
    }
    let error = match protected(lua, handler, &call)? {
        Ok(results) => return Ok(results),
        Err(error @ Value::Table(_)) => error,
        Err(error) => return lua::results(lua, &[Value::Bool(false), error]),
    };
    // It stays on the stack, as a metamethod may be called.
    lua.push(error);
    let key = lua::string(lua, b"err")?;
    match lua.table_get_with_tm(&error, &key)? {
        text @ (Value::Str(_) | Value::Int(_) | Value::Float(_)) => {
            lua::results(lua, &[Value::Bool(false), text])
        }
        // Redis leaves it on the stack.
        other => lua::results(lua, &[Value::Bool(false), error, other]),
    }
}

/// `xpcall(function, handler)`. `handle` is for closures: [`error::handle_by`].
fn xpcall(lua: &mut Lua, handle: LuaCFnPtr) -> Returned {
    let arguments = Arguments::of(lua);
    let handler = arguments.any(lua, 2)?;
    let handle = lua::closure(lua, handle, vec![handler]);
    let error = match protected(lua, handle, &[arguments.value(1)])? {
        Ok(results) => return Ok(results),
        Err(_) if !matches!(handler, Value::Function(_)) => {
            lua::string(lua, b"error in error handling")?
        }
        Err(error) => error,
    };
    lua::results(lua, &[Value::Bool(false), error])
}

/// Calls a function with the arguments that follow it, whose error the handler gets. Returns the number of
/// results after `true`, or the error, unless that ends the script.
fn protected(
    lua: &mut Lua,
    handler: Value,
    call: &[Value],
) -> lua::Result<std::result::Result<usize, Value>> {
    lua.set_top(lua.current_call_info().func + 1);
    lua::results(lua, &[handler, Value::Bool(true)])?;
    lua::results(lua, call)?;
    match api::pcall_k(lua, call.len() as i32 - 1, -1, 1, 0, None) {
        Ok(_) => Ok(Ok(lua::arguments(lua).len() - 1)),
        Err(error) if lua.sandbox_aborting() => Err(error),
        Err(error) => Ok(Err(error.into_value())),
    }
}
