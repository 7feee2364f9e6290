//! The interpreter as our functions see it.
//!
//! [omniLua](https://crates.io/crates/omnilua) is Lua in safe Rust; its dialect is set to 5.1, which
//! Redis uses. This crate calls it below its embedding API, where an error is a value of Lua and an
//! argument is read where it is.
//!
//! Its collector runs as instructions of a script do, and not in a function of ours that calls no
//! Lua: until that returns, the values it holds stay.

use std::cell::RefCell;

pub(super) use lua_types::LuaValue as Value;
use lua_types::closure::{LuaCClosure, LuaCFnPtr};
use lua_types::gc::GcRef;
use lua_types::{LuaClosure, LuaError};
use lua_vm::prelude::LuaTableRefExt as _;
use lua_vm::state::LuaCallable;
pub(super) use lua_vm::state::LuaState as Lua;

use crate::wire::float;

/// A string of Lua.
pub(super) type Text = GcRef<lua_types::LuaString>;
/// A table of Lua.
pub(super) type Table = GcRef<lua_types::LuaTable>;
/// What can fail with an error of Lua.
pub(super) type Result<T> = std::result::Result<T, LuaError>;
/// What a function that Lua calls returns: the number of results, which it has pushed.
pub(super) type Returned = Result<usize>;

/// A function that Lua can call.
pub(super) type Native = fn(&mut Lua) -> Returned;

/// The most results of one function (`LUAI_MAXCSTACK`).
pub(super) const MAX_SLOTS: usize = 8000;

/// The arguments of the function that Lua has called.
pub(super) fn arguments(lua: &Lua) -> Vec<Value> {
    let first = lua.current_call_info().func.0 + 1;
    let places = first..lua.top_idx().0;
    places
        .map(|place| lua.get_at(lua_vm::state::StackIdx(place)))
        .collect()
}

/// Returns these values to Lua.
pub(super) fn results(lua: &mut Lua, values: &[Value]) -> Returned {
    lua.check_stack(values.len() as i32)?;
    for value in values {
        lua.push(*value);
    }
    Ok(values.len())
}

/// Returns one value to Lua.
pub(super) fn result(lua: &mut Lua, value: Value) -> Returned {
    results(lua, &[value])
}

/// Calls a function with these arguments, which follow it; its results are on the stack.
pub(super) fn call(lua: &mut Lua, values: &[Value], results: i32) -> Result<()> {
    self::results(lua, values)?;
    lua_vm::api::call_k(lua, values.len() as i32 - 1, results, 0, None)
}

/// A string of these bytes.
pub(super) fn string(lua: &mut Lua, bytes: &[u8]) -> Result<Value> {
    lua.new_string(bytes).map(Value::Str)
}

/// A number.
pub(super) fn number(number: impl Into<f64>) -> Value {
    Value::Float(number.into())
}

/// A table with room for so many elements.
pub(super) fn table(lua: &mut Lua, elements: usize) -> Result<Table> {
    // More than this it asks for as it grows.
    lua.new_table_with_sizes(elements.min(1 << 16) as u32, 0)
}

/// Sets an element, past any metatable.
pub(super) fn set_index(lua: &mut Lua, table: &Table, index: usize, value: Value) -> Result<()> {
    lua.gc_table_barrier_back(table, &value);
    table.raw_set_int(lua, index as i64, value)
}

/// Sets the value of a key, past any metatable.
pub(super) fn set(lua: &mut Lua, table: &Table, key: Value, value: Value) -> Result<()> {
    lua.gc_table_barrier_back(table, &value);
    table.raw_set(lua, key, value)
}

/// Sets a field, past any metatable.
pub(super) fn set_field(lua: &mut Lua, table: &Table, name: &str, value: Value) -> Result<()> {
    let name = string(lua, name.as_bytes())?;
    set(lua, table, name, value)
}

/// A function for Lua.
pub(super) fn function(lua: &mut Lua, function: impl Fn(&mut Lua) -> Returned + 'static) -> Value {
    Value::Function(LuaClosure::LightC(registered(lua, function)))
}

/// A function for [`closure`].
pub(super) fn registered(
    lua: &mut Lua,
    function: impl Fn(&mut Lua) -> Returned + 'static,
) -> LuaCFnPtr {
    let mut global = lua.global_mut();
    let functions = &mut global.c_functions;
    functions.push(LuaCallable::rust(std::rc::Rc::new(function)));
    functions.len() - 1
}

/// A function with values of its own, which is collected as any value is.
pub(super) fn closure(lua: &mut Lua, func: LuaCFnPtr, upvalues: Vec<Value>) -> Value {
    lua.gc_check_needed = true;
    let upvalues = RefCell::new(upvalues);
    Value::Function(LuaClosure::C(GcRef::new(LuaCClosure { func, upvalues })))
}

/// The closure that Lua has called.
pub(super) fn called(lua: &Lua) -> Option<GcRef<LuaCClosure>> {
    match lua.get_at(lua.current_call_info().func) {
        Value::Function(LuaClosure::C(closure)) => Some(closure),
        _ => None,
    }
}

/// A table of functions.
pub(super) fn library(lua: &mut Lua, functions: &[(&str, Native)]) -> Result<Table> {
    let library = table(lua, 0)?;
    for (name, of) in functions {
        let function = function(lua, *of);
        set_field(lua, &library, name, function)?;
    }
    Ok(library)
}

/// A number or a string that is one, as a number (`lua_tonumber`).
pub(super) fn to_number(value: Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        Value::Str(text) => {
            let text = trimmed(before_zero(text.as_bytes()));
            match float::prefix(text)? {
                (number, len) if len == text.len() => Some(number),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A text without the spaces around it (`isspace`).
pub(super) fn trimmed(text: &[u8]) -> &[u8] {
    without(text, |byte| byte.is_ascii_whitespace() || byte == 11)
}

/// A text without such bytes around it.
pub(super) fn without(text: &[u8], is_such: impl Fn(u8) -> bool) -> &[u8] {
    let start = text.iter().take_while(|byte| is_such(**byte)).count();
    let end = text[start..]
        .iter()
        .rev()
        .take_while(|byte| is_such(**byte));
    &text[start..text.len() - end.count()]
}

/// The bytes of a string, or of a number as Lua writes it.
pub(super) fn text(value: Value) -> Vec<u8> {
    match value {
        Value::Str(text) => text.as_bytes().to_vec(),
        Value::Int(number) => written(number as f64),
        Value::Float(number) => written(number),
        _ => Vec::new(),
    }
}

/// The text of a value without a metatable. Addresses are hidden, as they differ from run to run.
pub(super) fn displayed(value: Value) -> Vec<u8> {
    match value {
        Value::Nil => b"nil".to_vec(),
        Value::Bool(value) => value.to_string().into_bytes(),
        Value::Float(number) if number.is_nan() => b"nan".to_vec(),
        Value::Str(_) | Value::Int(_) | Value::Float(_) => text(value),
        other => format!("{}: 0x000000000000", other.type_name()).into_bytes(),
    }
}

fn written(number: f64) -> Vec<u8> {
    float::general(number, 14).into_bytes()
}

/// The error that is this string (`lua_error`).
pub(super) fn error(text: impl AsRef<[u8]>) -> LuaError {
    LuaError::RuntimeMsg(text.as_ref().into())
}

/// The part of a text that C would see of it.
pub(super) fn before_zero(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0);
    &text[..end.unwrap_or(text.len())]
}

/// C's conversion of a `double` to a `long long`, as on x86: truncated towards zero, and the
/// smallest number if the result does not fit.
pub(super) fn truncate(number: f64) -> i64 {
    // 2^63, the first number that does not fit.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}
