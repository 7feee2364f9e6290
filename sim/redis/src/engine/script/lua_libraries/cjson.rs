//! `cjson`: Lua's values to JSON (`lua_cjson.c`, with its default settings). The reverse is in
//! `cjson_decode`.

use lua_types::LuaError;

use super::arguments::{self, Arguments};
use super::cjson_decode::{self, MAX_DEPTH};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::convert::pairs;
use crate::engine::script::lua::{self, Lua, Returned, Table, Value};
use crate::engine::script::meter;
use crate::wire::float;

/// `encode_sparse_array`: an array is too sparse if its length exceeds its number of elements by
/// this factor …
const SPARSE_RATIO: f64 = 2.0;
/// … and exceeds this length.
const SPARSE_SAFE: f64 = 10.0;
/// `encode_number_precision`, in digits.
const PRECISION: usize = 14;

pub(super) fn table(lua: &mut Lua) -> lua::Result<Table> {
    let table = lua::library(lua, &[("encode", encode), ("decode", cjson_decode::decode)])?;
    lua::set_field(lua, &table, "null", lua::NULL)?;
    for (name, text) in [("_NAME", "cjson"), ("_VERSION", "2.1.0")] {
        let text = lua::string(lua, text.as_bytes())?;
        lua::set_field(lua, &table, name, text)?;
    }
    Ok(table)
}

/// `cjson.encode(value)`.
fn encode(lua: &mut Lua) -> Returned {
    let [value] = *Arguments::of(lua).values() else {
        return Err(arguments::bad(lua, 1, "expected 1 argument"));
    };
    let mut encoder = Encoder {
        lua,
        json: Buffer::default(),
        open: Vec::new(),
    };
    encoder.whole(value)?;
    let json = encoder.json.into_string(lua)?;
    lua::result(lua, json)
}

struct Encoder<'a> {
    lua: &'a mut Lua,
    json: Buffer,
    /// The tables that contain this value, the innermost last. An explicit stack, because scripts
    /// control the depth.
    open: Vec<Open>,
}

/// A table that is not yet complete.
enum Open {
    Array {
        table: Table,
        written: i64,
        len: i64,
    },
    Object {
        table: Table,
        /// The key of the last pair.
        key: Value,
    },
}

impl Encoder<'_> {
    fn whole(&mut self, value: Value) -> lua::Result<()> {
        self.start(value)?;
        while let Some(mut innermost) = self.open.pop() {
            match self.step(&mut innermost)? {
                Some(value) => {
                    self.open.push(innermost);
                    self.start(value)?;
                }
                None => self.write(match innermost {
                    Open::Array { .. } => b"]",
                    Open::Object { .. } => b"}",
                })?,
            }
        }
        Ok(())
    }

    /// Writes the separator before the next value of a table, and returns that value.
    fn step(&mut self, table: &mut Open) -> lua::Result<Option<Value>> {
        meter::count_value(self.lua)?;
        match table {
            Open::Array { written, len, .. } if written == len => Ok(None),
            Open::Array { table, written, .. } => {
                if *written > 0 {
                    self.write(b",")?;
                }
                *written += 1;
                Ok(Some(table.get_int(*written)))
            }
            Open::Object { table, key } => {
                let Some((next, value)) = table.next_pair(key) else {
                    return Ok(None);
                };
                if !key.is_nil() {
                    self.write(b",")?;
                }
                *key = next;
                self.key(next)?;
                Ok(Some(value))
            }
        }
    }

    fn write(&mut self, json: &[u8]) -> lua::Result<()> {
        self.json.extend(self.lua, json)
    }

    fn key(&mut self, key: Value) -> lua::Result<()> {
        match key {
            Value::Str(text) => self.string(text.as_bytes())?,
            Value::Int(_) | Value::Float(_) => {
                self.write(b"\"")?;
                self.start(key)?;
                self.write(b"\"")?;
            }
            _ => return Err(self.refuse(key, "table key must be a number or string")),
        }
        self.write(b":")
    }

    /// Writes a value, or the start of a table.
    fn start(&mut self, value: Value) -> lua::Result<()> {
        match value {
            Value::Str(text) => self.string(text.as_bytes()),
            Value::Int(number) => self.number(value, number as f64),
            Value::Float(number) => self.number(value, number),
            Value::Bool(true) => self.write(b"true"),
            Value::Bool(false) => self.write(b"false"),
            Value::Table(table) => self.open(table),
            Value::Nil => self.write(b"null"),
            Value::LightUserData(_) => self.write(b"null"), // `cjson.null`
            other => Err(self.refuse(other, "type not supported")),
        }
    }

    fn refuse(&mut self, value: Value, why: &str) -> LuaError {
        let kind = value.type_name();
        arguments::error(self.lua, format!("Cannot serialise {kind}: {why}"))
    }

    fn number(&mut self, value: Value, number: f64) -> lua::Result<()> {
        if !number.is_finite() {
            return Err(self.refuse(value, "must not be NaN or Inf"));
        }
        let text = float::general(number, PRECISION);
        self.write(text.as_bytes())
    }

    fn string(&mut self, text: &[u8]) -> lua::Result<()> {
        self.write(b"\"")?;
        for byte in text {
            match byte {
                b'"' | b'\\' | b'/' => self.write(&[b'\\', *byte])?,
                8 => self.write(b"\\b")?,
                b'\t' => self.write(b"\\t")?,
                b'\n' => self.write(b"\\n")?,
                12 => self.write(b"\\f")?,
                b'\r' => self.write(b"\\r")?,
                0..32 | 127 => self.write(format!("\\u{byte:04x}").as_bytes())?,
                _ => self.write(&[*byte])?,
            }
        }
        self.write(b"\"")
    }

    fn open(&mut self, table: Table) -> lua::Result<()> {
        let len = self.array_len(table)?;
        let depth = self.open.len() + 1;
        if depth > MAX_DEPTH {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(arguments::error(self.lua, text));
        }
        self.write(if len.is_some() { b"[" } else { b"{" })?;
        self.open.push(match len {
            Some(len) => Open::Array {
                table,
                written: 0,
                len,
            },
            None => Open::Object {
                table,
                key: Value::Nil,
            },
        });
        Ok(())
    }

    /// The length of a table whose keys are all indices. A table without keys is an object.
    fn array_len(&mut self, table: Table) -> lua::Result<Option<i64>> {
        let (mut max, mut items) = (0.0_f64, 0.0);
        for (key, _) in pairs(table) {
            let index = match key {
                Value::Int(index) => index as f64,
                Value::Float(index) => index,
                _ => return Ok(None),
            };
            if index.floor() != index || index < 1.0 {
                return Ok(None);
            }
            max = max.max(index);
            items += 1.0;
        }
        if max > items * SPARSE_RATIO && max > SPARSE_SAFE {
            return Err(self.refuse(Value::Table(table), "excessively sparse array"));
        }
        Ok((max > 0.0).then_some(max as i64))
    }
}
