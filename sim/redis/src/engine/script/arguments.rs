//! Arguments of library functions, and the errors of Lua's C interface (`lauxlib.c`), which name
//! the calling line of the script.

use std::ops::Deref;

use lua_types::LuaError;
use lua_vm::debug::LuaDebug;

use super::lua::{self, Lua, Value, before_zero, truncate};

/// The bytes of an argument: those of a Lua string stay where they are.
pub(super) enum Text {
    Borrowed(lua::Text),
    /// A number, as Lua writes it.
    Owned(Vec<u8>),
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Text::Borrowed(text) => text.as_bytes(),
            Text::Owned(bytes) => bytes,
        }
    }
}

/// The arguments of one call.
pub(super) struct Arguments(Vec<Value>);

impl Arguments {
    pub(super) fn of(lua: &Lua) -> Self {
        Arguments(lua::arguments(lua))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// An argument; nil if there is none. Positions start at 1.
    pub(super) fn value(&self, index: usize) -> Value {
        self.0.get(index - 1).copied().unwrap_or(Value::Nil)
    }

    /// `luaL_checklstring`: a string, or a number converted to one.
    pub(super) fn string(&self, lua: &mut Lua, index: usize) -> lua::Result<Text> {
        match self.value(index) {
            Value::Str(text) => Ok(Text::Borrowed(text)),
            number @ (Value::Int(_) | Value::Float(_)) => Ok(Text::Owned(lua::text(number))),
            _ => Err(self.wrong_type(lua, index, "string")),
        }
    }

    /// `luaL_checkany`: an argument, which may be nil.
    pub(super) fn any(&self, lua: &mut Lua, index: usize) -> lua::Result<Value> {
        match self.0.get(index - 1) {
            Some(value) => Ok(*value),
            None => Err(bad(lua, index, "value expected")),
        }
    }

    /// A table.
    pub(super) fn table(&self, lua: &mut Lua, index: usize) -> lua::Result<lua::Table> {
        match self.value(index) {
            Value::Table(table) => Ok(table),
            _ => Err(self.wrong_type(lua, index, "table")),
        }
    }

    /// A function.
    pub(super) fn function(&self, lua: &mut Lua, index: usize) -> lua::Result<Value> {
        match self.value(index) {
            function @ Value::Function(_) => Ok(function),
            _ => Err(self.wrong_type(lua, index, "function")),
        }
    }

    /// `luaL_optstring`: a string as C sees it; the default if absent or nil.
    pub(super) fn optional_string(
        &self,
        lua: &mut Lua,
        index: usize,
        default: &[u8],
    ) -> lua::Result<Vec<u8>> {
        match self.value(index) {
            Value::Nil => Ok(default.to_vec()),
            _ => Ok(before_zero(&self.string(lua, index)?).to_vec()),
        }
    }

    /// `luaL_checknumber`: a number, or a string that is convertible to one.
    pub(super) fn number(&self, lua: &mut Lua, index: usize) -> lua::Result<f64> {
        let number = lua::to_number(self.value(index));
        number.ok_or_else(|| self.wrong_type(lua, index, "number"))
    }

    /// `luaL_checkinteger`: like [`Arguments::number`], truncated.
    pub(super) fn integer(&self, lua: &mut Lua, index: usize) -> lua::Result<i64> {
        Ok(truncate(self.number(lua, index)?))
    }

    /// `luaL_optinteger`: like [`Arguments::integer`]; the default if absent or nil.
    pub(super) fn optional_integer(
        &self,
        lua: &mut Lua,
        index: usize,
        default: i64,
    ) -> lua::Result<i64> {
        match self.value(index) {
            Value::Nil => Ok(default),
            _ => self.integer(lua, index),
        }
    }

    /// `luaL_checkint`: like [`Arguments::integer`], as C's `int`.
    pub(super) fn int(&self, lua: &mut Lua, index: usize) -> lua::Result<i32> {
        Ok(self.integer(lua, index)? as i32)
    }

    /// `luaL_optint`: like [`Arguments::int`]; the default if absent or nil.
    pub(super) fn optional_int(
        &self,
        lua: &mut Lua,
        index: usize,
        default: i64,
    ) -> lua::Result<i64> {
        let int = self.optional_integer(lua, index, default)?;
        Ok(int as i32 as i64)
    }

    /// The error of an argument that is of another type (`luaL_typerror`).
    pub(super) fn wrong_type(&self, lua: &mut Lua, index: usize, expected: &str) -> LuaError {
        let found = self.0.get(index - 1).map_or("no value", Value::type_name);
        bad(lua, index, format!("{expected} expected, got {found}"))
    }
}

/// `luaL_argerror`: names the function as the script that called it does.
pub(super) fn bad(lua: &mut Lua, index: usize, why: impl AsRef<[u8]>) -> LuaError {
    let call = frame(lua, 0, b"n").unwrap_or_default();
    let (index, name) = match (call.namewhat, call.name) {
        (Some(b"method"), Some(name)) => (index - 1, name),
        (Some(b"for iterator"), _) => (index, b"(for generator)".to_vec()),
        (_, name) => (index, name.unwrap_or_else(|| b"?".to_vec())),
    };
    let (start, end) = match index {
        0 => ("calling '".to_owned(), "' on bad self ("),
        _ => (format!("bad argument #{index} to '"), "' ("),
    };
    let (name, why) = (before_zero(&name), before_zero(why.as_ref()));
    error(
        lua,
        [start.as_bytes(), name, end.as_bytes(), why, b")"].concat(),
    )
}

/// `luaL_error`.
pub(super) fn error(lua: &mut Lua, text: impl AsRef<[u8]>) -> LuaError {
    let mut whole = position(lua, 1);
    whole.extend_from_slice(text.as_ref());
    lua::error(whole)
}

/// `luaL_where`: the chunk and the line of the function at a level, if that is one of Lua.
pub(super) fn position(lua: &mut Lua, level: i32) -> Vec<u8> {
    match frame(lua, level, b"Sl") {
        Some(place) if place.currentline > 0 => {
            let line = format!(":{}: ", place.currentline);
            [before_zero(&place.short_src), line.as_bytes()].concat()
        }
        _ => Vec::new(),
    }
}

/// `lua_getstack` and `lua_getinfo`: the function at a level, of which 0 is the one that is called.
pub(super) fn frame(lua: &mut Lua, level: i32, what: &[u8]) -> Option<LuaDebug> {
    let mut frame = LuaDebug::default();
    if !lua_vm::debug::get_stack(lua, level, &mut frame) {
        return None;
    }
    lua_vm::debug::get_info(lua, what, &mut frame);
    Some(frame)
}

/// The source that a chunk was given, of the name that the interpreter has for it.
pub(super) fn source(name: &[u8]) -> &[u8] {
    name.splitn(2, |byte| *byte == 0).last().unwrap_or(name)
}
