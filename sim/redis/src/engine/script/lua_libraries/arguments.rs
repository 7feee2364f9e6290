//! Arguments of library functions, and the errors of Lua's C interface (`lauxlib.c`), which name
//! the calling line of the script.

use std::ops::Deref;

use mlua::{BorrowedBytes, Lua, MultiValue, Value};

use crate::engine::script::convert;
use crate::engine::script::error;

/// The bytes of an argument: those of a Lua string stay where they are.
pub(super) enum Text {
    Borrowed(BorrowedBytes),
    /// A number, as Lua writes it.
    Owned(Vec<u8>),
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Text::Borrowed(bytes) => bytes,
            Text::Owned(bytes) => bytes,
        }
    }
}

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) lua: &'a Lua,
    pub(super) values: &'a MultiValue,
}

impl Arguments<'_> {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// `luaL_checklstring`: a string, or a number converted to one. Positions start at 1.
    pub(super) fn string(&self, index: usize) -> mlua::Result<Text> {
        match self.values.get(index - 1) {
            Some(Value::String(text)) => Ok(Text::Borrowed(text.as_bytes())),
            Some(value @ (Value::Integer(_) | Value::Number(_))) => {
                Ok(Text::Owned(convert::text(value)))
            }
            other => Err(self.wrong_type(index, "string", other)),
        }
    }

    /// `luaL_checknumber`: a number, or a string that is convertible to one.
    pub(super) fn number(&self, index: usize) -> mlua::Result<f64> {
        let value = self.values.get(index - 1);
        let number = match value {
            None => None,
            Some(value) => to_number(self.lua, value)?,
        };
        number.ok_or_else(|| self.wrong_type(index, "number", value))
    }

    /// `luaL_optinteger`: like [`Arguments::number`], truncated; the default if absent or nil.
    pub(super) fn optional_integer(&self, index: usize, default: i64) -> mlua::Result<i64> {
        match self.values.get(index - 1) {
            None | Some(Value::Nil) => Ok(default),
            Some(_) => Ok(self.number(index)? as i64),
        }
    }

    /// `luaL_checkint`: like [`Arguments::number`], as C's `int`.
    pub(super) fn int(&self, index: usize) -> mlua::Result<i32> {
        Ok(self.number(index)? as i64 as i32)
    }

    fn wrong_type(&self, index: usize, expected: &str, found: Option<&Value>) -> mlua::Error {
        let found = found.map_or("no value", type_name);
        self.bad(index, format!("{expected} expected, got {found}"))
    }

    /// `luaL_argerror`.
    pub(super) fn bad(&self, index: usize, why: impl AsRef<[u8]>) -> mlua::Error {
        let name = self
            .lua
            .inspect_stack(0, |function| {
                function.names().name.map(|name| name.into_owned())
            })
            .flatten();
        let name = name.as_deref().unwrap_or("?");
        let start = format!("bad argument #{index} to '{name}' (");
        self.error([start.as_bytes(), why.as_ref(), b")"].concat())
    }

    /// `luaL_error`.
    pub(super) fn error(&self, text: impl AsRef<[u8]>) -> mlua::Error {
        let position = self
            .lua
            .inspect_stack(1, |caller| {
                let line = caller.current_line()?;
                let source = caller.source().short_src?.into_owned();
                Some(format!("{source}:{line}: "))
            })
            .flatten();
        let text = [position.unwrap_or_default().as_bytes(), text.as_ref()].concat();
        error::raise_message(text)
    }
}

/// `lua_tonumber`: a number, or a string that Lua can convert to one.
pub(super) fn to_number(lua: &Lua, value: &Value) -> mlua::Result<Option<f64>> {
    match value {
        Value::Integer(number) => Ok(Some(*number as f64)),
        Value::Number(number) => Ok(Some(*number)),
        Value::String(_) => lua.coerce_number(value.clone()),
        _ => Ok(None),
    }
}

/// The type name that Lua's `type` returns.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) | Value::Number(_) => "number",
        Value::LightUserData(_) | Value::Error(_) => "userdata",
        other => other.type_name(),
    }
}
