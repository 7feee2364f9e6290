//! `bit`: operations on 32 bits (`lua_bit.c`, Lua BitOp).

use mlua::{Function, Lua, MultiValue, Table};

use super::arguments::Arguments;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let one = |operation: fn(i32) -> i32| {
        function(lua, move |arguments| {
            Ok(f64::from(operation(bits(arguments, 1)?)))
        })
    };
    let fold = |operation: fn(i32, i32) -> i32| {
        function(lua, move |arguments| {
            let mut all = bits(arguments, 1)?;
            for index in 2..=arguments.len() {
                all = operation(all, bits(arguments, index)?);
            }
            Ok(f64::from(all))
        })
    };
    // The lowest five bits of the second number are the shift count.
    let shift = |operation: fn(i32, u32) -> i32| {
        function(lua, move |arguments| {
            let number = bits(arguments, 1)?;
            let places = bits(arguments, 2)? as u32 & 31;
            Ok(f64::from(operation(number, places)))
        })
    };
    table.set("tobit", one(|number| number)?)?;
    table.set("bnot", one(|number| !number)?)?;
    table.set("bswap", one(i32::swap_bytes)?)?;
    table.set("band", fold(|a, b| a & b)?)?;
    table.set("bor", fold(|a, b| a | b)?)?;
    table.set("bxor", fold(|a, b| a ^ b)?)?;
    table.set("lshift", shift(|number, by| number << by)?)?;
    table.set("rshift", shift(|number, by| (number as u32 >> by) as i32)?)?;
    table.set("arshift", shift(|number, by| number >> by)?)?;
    table.set("rol", shift(i32::rotate_left)?)?;
    table.set("ror", shift(i32::rotate_right)?)?;
    table.set("tohex", lua.create_function(tohex)?)?;
    Ok(table)
}

fn function<F>(lua: &Lua, body: F) -> mlua::Result<Function>
where
    F: Fn(&Arguments<'_>) -> mlua::Result<f64> + 'static,
{
    lua.create_function(move |lua, values: MultiValue| {
        body(&Arguments {
            lua,
            values: &values,
        })
    })
}

/// `bit.tohex(x [, digits])`: a negative count selects upper case.
fn tohex(lua: &Lua, values: MultiValue) -> mlua::Result<String> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    let number = bits(&arguments, 1)?;
    let digits = match arguments.len() {
        ..2 => 8,
        _ => bits(&arguments, 2)?,
    };
    let shown = digits.unsigned_abs().min(8) as usize;
    let text = match digits {
        ..0 => format!("{number:08X}"),
        _ => format!("{number:08x}"),
    };
    Ok(text[8 - shown..].to_owned())
}

/// A number's lowest 32 bits, rounded half to even: adding 2^52 + 2^51 moves them to the end of
/// the mantissa.
fn bits(arguments: &Arguments<'_>, index: usize) -> mlua::Result<i32> {
    const ROUNDING: f64 = 6_755_399_441_055_744.0;
    let number = arguments.number(index)?;
    Ok((number + ROUNDING).to_bits() as i32)
}
