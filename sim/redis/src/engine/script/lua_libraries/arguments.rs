//! Arguments of library functions, and the errors of Lua's C interface (`lauxlib.c`), which name
//! the calling line of the script.

use std::ops::Deref;

use lua_types::LuaError;

use crate::engine::script::lua::{self, Lua, Value};

/// The bytes of an argument: those of a Lua string stay where they are.
pub(in crate::engine::script) enum Text {
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
pub(in crate::engine::script) struct Arguments(Vec<Value>);

impl Arguments {
    pub(in crate::engine::script) fn of(lua: &Lua) -> Self {
        Arguments(lua::arguments(lua))
    }

    pub(in crate::engine::script) fn len(&self) -> usize {
        self.0.len()
    }

    /// An argument; nil if there is none. Positions start at 1.
    pub(in crate::engine::script) fn value(&self, index: usize) -> Value {
        self.0.get(index - 1).copied().unwrap_or(Value::Nil)
    }

    /// `luaL_checklstring`: a string, or a number converted to one.
    pub(in crate::engine::script) fn string(
        &self,
        lua: &mut Lua,
        index: usize,
    ) -> lua::Result<Text> {
        match self.value(index) {
            Value::Str(text) => Ok(Text::Borrowed(text)),
            number @ (Value::Int(_) | Value::Float(_)) => Ok(Text::Owned(lua::text(number))),
            _ => Err(self.wrong_type(lua, index, "string")),
        }
    }

    /// `luaL_checknumber`: a number, or a string that is convertible to one.
    pub(in crate::engine::script) fn number(
        &self,
        lua: &mut Lua,
        index: usize,
    ) -> lua::Result<f64> {
        let number = lua::to_number(lua, self.value(index));
        number.ok_or_else(|| self.wrong_type(lua, index, "number"))
    }

    /// `luaL_optinteger`: like [`Arguments::number`], truncated; the default if absent or nil.
    pub(in crate::engine::script) fn optional_integer(
        &self,
        lua: &mut Lua,
        index: usize,
        default: i64,
    ) -> lua::Result<i64> {
        match self.value(index) {
            Value::Nil => Ok(default),
            _ => Ok(self.number(lua, index)? as i64),
        }
    }

    /// `luaL_checkint`: like [`Arguments::number`], as C's `int`.
    pub(in crate::engine::script) fn int(&self, lua: &mut Lua, index: usize) -> lua::Result<i32> {
        Ok(self.number(lua, index)? as i64 as i32)
    }

    /// The error of an argument that is of another type (`luaL_typerror`).
    pub(in crate::engine::script) fn wrong_type(
        &self,
        lua: &mut Lua,
        index: usize,
        expected: &str,
    ) -> LuaError {
        let found = self.0.get(index - 1).map_or("no value", Value::type_name);
        bad(lua, index, format!("{expected} expected, got {found}"))
    }
}

/// `luaL_argerror`.
pub(in crate::engine::script) fn bad(
    lua: &mut Lua,
    index: usize,
    why: impl AsRef<[u8]>,
) -> LuaError {
    lua_vm::debug::arg_error_impl(lua, index as i32, why.as_ref())
}

/// `luaL_error`.
pub(in crate::engine::script) fn error(lua: &mut Lua, text: impl AsRef<[u8]>) -> LuaError {
    lua_vm::debug::c_api_runtime(lua, text.as_ref().to_vec())
}
