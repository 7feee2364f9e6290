//! Functions of Lua's library `table`, and `unpack` (`ltablib.c`, `lbaselib.c`), that do as much as they are
//! told to, and count it.

use super::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, MAX_SLOTS, Returned, Table, Value};
use crate::engine::script::meter;

/// The first argument, which is a table.
pub(super) fn table(lua: &mut Lua, arguments: &Arguments) -> lua::Result<Table> {
    match arguments.value(1) {
        Value::Table(table) => Ok(table),
        _ => Err(arguments.wrong_type(lua, 1, "table")),
    }
}

/// An argument that is C's `int`; the default if absent or nil.
fn optional_int(
    lua: &mut Lua,
    arguments: &Arguments,
    index: usize,
    default: i64,
) -> lua::Result<i64> {
    let int = arguments.optional_integer(lua, index, default)?;
    Ok(int as i32 as i64)
}

/// `unpack(table [, first [, last]])`.
pub(super) fn unpack(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = table(lua, &arguments)?;
    let first = optional_int(lua, &arguments, 2, 1)?;
    let last = optional_int(lua, &arguments, 3, table.getn() as i64)?;
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
    let table = table(lua, &arguments)?;
    let separator = match arguments.value(2) {
        Value::Nil => None,
        _ => Some(arguments.string(lua, 2)?),
    };
    let first = optional_int(lua, &arguments, 3, 1)?;
    let last = optional_int(lua, &arguments, 4, table.getn() as i64)?;
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
    let table = table(lua, &arguments)?;
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
    let table = table(lua, &arguments)?;
    let last = table.getn() as i64;
    let position = optional_int(lua, &arguments, 2, last)?;
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

/// Sets an element.
pub(super) fn set(lua: &mut Lua, table: &Table, index: i64, value: Value) -> lua::Result<()> {
    lua::set(lua, table, Value::Int(index), value)
}
