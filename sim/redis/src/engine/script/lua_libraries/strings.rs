//! Functions of Lua's library `string` with Redis's bounds and errors (`lstrlib.c`).

use lua_types::LuaClosure;

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, MAX_SLOTS, Returned, Table, Value};
use crate::engine::script::meter;

/// `string.rep(text, times)`.
pub(super) fn rep(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let times = arguments.int(lua, 2)?.max(0) as usize;
    let mut repeated = Buffer::default();
    repeated.reserve(lua, text.len().saturating_mul(times))?;
    if !text.is_empty() {
        for _ in 0..times {
            repeated.add(&text);
        }
    }
    let repeated = repeated.into_string(lua)?;
    lua::result(lua, repeated)
}

/// `string.byte(text [, first [, last]])`.
pub(super) fn byte(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let first = arguments.optional_integer(lua, 2, 1)?;
    let last = arguments.optional_integer(lua, 3, position(first, &text))?;
    let bytes = part(&text, first, last);
    if bytes.len() + arguments.len() > MAX_SLOTS {
        return Err(arguments::error(lua, "string slice too long"));
    }
    let bytes: Vec<_> = bytes.iter().map(|byte| lua::number(*byte)).collect();
    lua::results(lua, &bytes)
}

/// `string.sub(text, first [, last])`.
pub(super) fn sub(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let first = arguments.integer(lua, 2)?;
    let last = arguments.optional_integer(lua, 3, -1)?;
    returned(lua, part(&text, first, last))
}

/// A position in a text, which counts from its end if it is negative (`posrelat`).
fn position(number: i64, text: &[u8]) -> i64 {
    match number < 0 {
        true => number.saturating_add(text.len() as i64 + 1).max(0),
        false => number,
    }
}

/// From one position to the other.
fn part(text: &[u8], first: i64, last: i64) -> &[u8] {
    let [first, last] = [first, last].map(|number| position(number, text));
    let last = text.len().min(last as usize);
    text.get(first.max(1) as usize - 1..last)
        .unwrap_or_default()
}

/// A string that a function returns, whose bytes count as work.
fn returned(lua: &mut Lua, text: &[u8]) -> Returned {
    meter::count_bytes(lua, text.len())?;
    let text = lua::string(lua, text)?;
    lua::result(lua, text)
}

/// `string.len(text)`.
pub(super) fn len(lua: &mut Lua) -> Returned {
    let len = Arguments::of(lua).string(lua, 1)?.len();
    lua::result(lua, lua::number(len as f64))
}

/// `string.lower(text)`.
pub(super) fn lower(lua: &mut Lua) -> Returned {
    let text = Arguments::of(lua).string(lua, 1)?.to_ascii_lowercase();
    returned(lua, &text)
}

/// `string.upper(text)`.
pub(super) fn upper(lua: &mut Lua) -> Returned {
    let text = Arguments::of(lua).string(lua, 1)?.to_ascii_uppercase();
    returned(lua, &text)
}

/// `string.reverse(text)`.
pub(super) fn reverse(lua: &mut Lua) -> Returned {
    let mut text = Arguments::of(lua).string(lua, 1)?.to_vec();
    text.reverse();
    returned(lua, &text)
}

/// `string.dump(function)`: only how bytecode begins, which no script can load.
pub(super) fn dump(lua: &mut Lua) -> Returned {
    match Arguments::of(lua).function(lua, 1)? {
        Value::Function(LuaClosure::Lua(_)) => returned(lua, b"\x1bLuaQ\0"),
        _ => Err(arguments::error(lua, "unable to dump given function")),
    }
}

/// `string.char(code, …)`.
pub(super) fn char(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let mut text = Vec::with_capacity(arguments.len());
    for index in 1..=arguments.len() {
        let code = arguments.int(lua, index)?;
        let code = u8::try_from(code);
        text.push(code.map_err(|_| arguments::bad(lua, index, "invalid value"))?);
    }
    let text = lua::string(lua, &text)?;
    lua::result(lua, text)
}

/// An operation on two numbers.
type Operation = fn(f64, f64) -> f64;

/// The operations that read texts as numbers, by the fields of the metatable of texts.
const ARITHMETIC: &[(&str, Operation)] = &[
    ("__add", |one, other| one + other),
    ("__div", |one, other| one / other),
    ("__mod", |one, other| one - libm::floor(one / other) * other),
    ("__mul", |one, other| one * other),
    ("__pow", f64::powf),
    ("__sub", |one, other| one - other),
    ("__unm", |one, _| -one),
];

/// A metatable for texts.
pub(super) fn metatable(lua: &mut Lua) -> lua::Result<Table> {
    let meta = lua::table(lua, 0)?;
    for (name, operation) in ARITHMETIC {
        let function = lua::function(lua, |lua| arithmetic(lua, name, *operation));
        lua::set_field(lua, &meta, name, function)?;
    }
    Ok(meta)
}

fn arithmetic(lua: &mut Lua, name: &str, operation: Operation) -> Returned {
    let arguments = Arguments::of(lua);
    let values = [arguments.value(1), arguments.value(2)];
    if let [Some(one), Some(other)] = values.map(lua::to_number) {
        return lua::result(lua, lua::number(operation(one, other)));
    }
    let meta = match values[1] {
        Value::Str(_) => None,
        other => lua.table_metatable(&other),
    };
    match meta.map(|meta| meta.get_str_bytes(name.as_bytes())) {
        None | Some(Value::Nil) => Err(arguments::error(
            lua,
            "attempt to perform arithmetic on a string value",
        )),
        Some(function) => {
            lua::call(lua, &[function, values[0], values[1]], 1)?;
            Ok(1)
        }
    }
}
