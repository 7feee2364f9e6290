//! Functions of Lua's library `table`, and `unpack` (`ltablib.c`, `lbaselib.c`), that do as much as they are
//! told to, and count it.

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, MAX_SLOTS, Returned, Table, Value};
use crate::engine::script::{meter, sandbox};

/// `unpack(table [, first [, last]])`.
pub(super) fn unpack(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let first = arguments.optional_int(lua, 2, 1)?;
    let last = arguments.optional_int(lua, 3, table.getn() as i64)?;
    if first > last {
        return Ok(0);
    }
    let count = (last - first + 1) as usize;
    if count + arguments.len() > MAX_SLOTS {
        return Err(arguments::error(lua, "too many results to unpack"));
    }
    meter::count(lua, count as u64)?;
    let values: Vec<Value> = (first..=last).map(|index| table.get_int(index)).collect();
    lua::results(lua, &values)
}

/// `table.concat(table [, separator [, first [, last]]])`.
pub(super) fn concat(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let separator = match arguments.value(2) {
        Value::Nil => None,
        _ => Some(arguments.string(lua, 2)?),
    };
    let table = arguments.table(lua, 1)?;
    let first = arguments.optional_int(lua, 3, 1)?;
    let last = arguments.optional_int(lua, 4, table.getn() as i64)?;
    let mut all = Buffer::default();
    for index in first..=last {
        meter::count(lua, 1)?;
        match table.get_int(index) {
            Value::Str(text) => all.extend(lua, text.as_bytes())?,
            number @ (Value::Int(_) | Value::Float(_)) => all.extend(lua, &lua::text(number))?,
            other => {
                let kind = other.type_name();
                let why = format!("invalid value ({kind}) at index {index} in table for 'concat'");
                return Err(arguments::error(lua, why));
            }
        }
        if let (Some(separator), true) = (&separator, index < last) {
            all.extend(lua, separator)?;
        }
    }
    let all = all.into_string(lua)?;
    lua::result(lua, all)
}

/// `table.insert(table, [position,] value)`.
pub(super) fn insert(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let after = table.getn() as i64 + 1;
    let (position, value) = match arguments.len() {
        2 => (after, arguments.value(2)),
        3 => (arguments.int(lua, 2)?.into(), arguments.value(3)),
        _ => {
            return Err(arguments::error(
                lua,
                "wrong number of arguments to 'insert'",
            ));
        }
    };
    for index in (position + 1..=after).rev() {
        meter::count(lua, 1)?;
        set(lua, &table, index, table.get_int(index - 1))?;
    }
    set(lua, &table, position, value)?;
    Ok(0)
}

/// `table.remove(table [, position])`.
pub(super) fn remove(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let last = table.getn() as i64;
    let position = arguments.optional_int(lua, 2, last)?;
    if !(1..=last).contains(&position) {
        return Ok(0);
    }
    let removed = table.get_int(position);
    for index in position..last {
        meter::count(lua, 1)?;
        set(lua, &table, index, table.get_int(index + 1))?;
    }
    set(lua, &table, last, Value::Nil)?;
    lua::result(lua, removed)
}

/// `table.foreach(table, function)`.
pub(super) fn foreach(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = sandbox::behind(arguments.table(lua, 1)?);
    let function = arguments.function(lua, 2)?;
    let mut key = Value::Nil;
    while let Some((next, value)) = after(&table, key)? {
        key = next;
        // It stays on the stack, as the function may take it out of the table.
        lua.push(key);
        if visited(lua, function, key, value)? {
            return Ok(1);
        }
        lua.pop();
    }
    Ok(0)
}

/// The key after a key, and its value (`lua_next`). The interpreter keeps whole numbers in another way.
pub(super) fn after(table: &Table, key: Value) -> lua::Result<Option<(Value, Value)>> {
    // 2^63
    const MOST: f64 = 9_223_372_036_854_775_808.0;
    let key = match key {
        Value::Float(number) if number.fract() == 0.0 && number.abs() < MOST => {
            Value::Int(number as i64)
        }
        other => other,
    };
    match table.try_next_pair(&key) {
        Ok(Some((Value::Int(key), value))) => Ok(Some((Value::Float(key as f64), value))),
        Ok(next) => Ok(next),
        Err(_) => Err(lua::error("invalid key to 'next'")),
    }
}

/// `table.foreachi(table, function)`.
pub(super) fn foreachi(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let function = arguments.function(lua, 2)?;
    for index in 1..=table.getn() {
        let value = table.get_int(index as i64);
        if visited(lua, function, lua::number(index as f64), value)? {
            return Ok(1);
        }
    }
    Ok(0)
}

/// Calls a function with a key and its value; returns whether it returned one, which stays on the stack.
fn visited(lua: &mut Lua, function: Value, key: Value, value: Value) -> lua::Result<bool> {
    meter::count(lua, 1)?;
    lua::call(lua, &[function, key, value], 1)?;
    let found = !lua.peek_top().is_nil();
    if !found {
        lua.pop();
    }
    Ok(found)
}

/// `table.getn(table)`.
pub(super) fn getn(lua: &mut Lua) -> Returned {
    let len = Arguments::of(lua).table(lua, 1)?.getn();
    lua::result(lua, lua::number(len as f64))
}

/// `table.maxn(table)`: the greatest key that is a number.
pub(super) fn maxn(lua: &mut Lua) -> Returned {
    let table = Arguments::of(lua).table(lua, 1)?;
    meter::count(
        lua,
        table.with_inner(|inner| inner.array.len() + inner.node.len()) as u64,
    )?;
    let mut most = 0_f64;
    table.for_each_entry(|key, _| match key {
        Value::Int(number) => most = most.max(*number as f64),
        Value::Float(number) => most = most.max(*number),
        _ => {}
    });
    lua::result(lua, lua::number(most))
}

/// `table.setn(table, size)`, which Lua 5.1 has no longer.
pub(super) fn setn(lua: &mut Lua) -> Returned {
    Arguments::of(lua).table(lua, 1)?;
    Err(arguments::error(lua, "'setn' is obsolete"))
}

/// Sets an element.
pub(super) fn set(lua: &mut Lua, table: &Table, index: i64, value: Value) -> lua::Result<()> {
    sandbox::writable(table)?;
    lua::set(lua, table, Value::Int(index), value)
}
