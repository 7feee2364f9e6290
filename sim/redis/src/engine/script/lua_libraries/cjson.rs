//! `cjson`: Lua's values to JSON (`lua_cjson.c`, with its default settings). The reverse is in
//! `cjson_decode`.

use mlua::{Lua, MultiValue, Table, Value};

use super::arguments::{Arguments, type_name};
use super::cjson_decode::{self, MAX_DEPTH};
use crate::engine::script::memory::Buffer;
use crate::engine::script::meter::Meter;
use crate::engine::script::walk::Pairs;
use crate::wire::float;

/// `encode_sparse_array`: an array is too sparse if its length exceeds its number of elements by
/// this factor …
const SPARSE_RATIO: f64 = 2.0;
/// … and exceeds this length.
const SPARSE_SAFE: f64 = 10.0;
/// `encode_number_precision`, in digits.
const PRECISION: usize = 14;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("encode", lua.create_function(encode)?)?;
    table.set("decode", lua.create_function(cjson_decode::decode)?)?;
    table.set("null", Value::NULL)?;
    table.set("_NAME", "cjson")?;
    table.set("_VERSION", "2.1.0")?;
    Ok(table)
}

/// `cjson.encode(value)`.
fn encode(lua: &Lua, values: MultiValue) -> mlua::Result<mlua::LuaString> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    let (Some(value), 1) = (values.front(), values.len()) else {
        return Err(arguments.bad(1, "expected 1 argument"));
    };
    let mut encoder = Encoder {
        arguments: &arguments,
        json: Buffer::new(lua),
        open: Vec::new(),
    };
    encoder.whole(value.clone())?;
    encoder.json.into_string()
}

struct Encoder<'a> {
    arguments: &'a Arguments<'a>,
    json: Buffer<'a>,
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
        left: Pairs,
        first: bool,
    },
}

impl Encoder<'_> {
    fn whole(&mut self, value: Value) -> mlua::Result<()> {
        self.start(&value)?;
        while let Some(mut innermost) = self.open.pop() {
            match self.step(&mut innermost)? {
                Some(value) => {
                    self.open.push(innermost);
                    self.start(&value)?;
                }
                None => self.json.push(match innermost {
                    Open::Array { .. } => b']',
                    Open::Object { .. } => b'}',
                })?,
            }
        }
        Ok(())
    }

    /// Writes the separator before the next value of a table, and returns that value.
    fn step(&mut self, table: &mut Open) -> mlua::Result<Option<Value>> {
        Meter::count_value(self.arguments.lua)?;
        match table {
            Open::Array { written, len, .. } if written == len => Ok(None),
            Open::Array { table, written, .. } => {
                if *written > 0 {
                    self.json.push(b',')?;
                }
                *written += 1;
                table.raw_get(*written).map(Some)
            }
            Open::Object { left, first } => {
                let Some((key, value)) = left.next()? else {
                    return Ok(None);
                };
                if !std::mem::take(first) {
                    self.json.push(b',')?;
                }
                self.key(&key)?;
                Ok(Some(value))
            }
        }
    }

    fn key(&mut self, key: &Value) -> mlua::Result<()> {
        match key {
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::Integer(_) | Value::Number(_) => {
                self.json.push(b'"')?;
                self.start(key)?;
                self.json.push(b'"')?;
            }
            _ => return Err(self.refuse(key, "table key must be a number or string")),
        }
        self.json.push(b':')
    }

    /// Writes a value, or the start of a table.
    fn start(&mut self, value: &Value) -> mlua::Result<()> {
        match value {
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::Integer(number) => self.number(value, *number as f64)?,
            Value::Number(number) => self.number(value, *number)?,
            Value::Boolean(true) => self.json.extend(b"true")?,
            Value::Boolean(false) => self.json.extend(b"false")?,
            Value::Table(table) => self.open(table)?,
            Value::Nil => self.json.extend(b"null")?,
            other if other.is_null() => self.json.extend(b"null")?,
            other => return Err(self.refuse(other, "type not supported")),
        }
        Ok(())
    }

    fn refuse(&self, value: &Value, why: &str) -> mlua::Error {
        let kind = type_name(value);
        self.arguments
            .error(format!("Cannot serialise {kind}: {why}"))
    }

    fn number(&mut self, value: &Value, number: f64) -> mlua::Result<()> {
        if !number.is_finite() {
            return Err(self.refuse(value, "must not be NaN or Inf"));
        }
        let text = float::general(number, PRECISION);
        self.json.extend(text.as_bytes())
    }

    fn string(&mut self, text: &[u8]) -> mlua::Result<()> {
        self.json.push(b'"')?;
        for byte in text {
            match byte {
                b'"' | b'\\' | b'/' => self.json.extend(&[b'\\', *byte])?,
                8 => self.json.extend(b"\\b")?,
                b'\t' => self.json.extend(b"\\t")?,
                b'\n' => self.json.extend(b"\\n")?,
                12 => self.json.extend(b"\\f")?,
                b'\r' => self.json.extend(b"\\r")?,
                0..32 | 127 => self.json.extend(format!("\\u{byte:04x}").as_bytes())?,
                _ => self.json.push(*byte)?,
            }
        }
        self.json.push(b'"')
    }

    fn open(&mut self, table: &Table) -> mlua::Result<()> {
        let len = self.array_len(table)?;
        let depth = self.open.len() + 1;
        if depth > MAX_DEPTH {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(self.arguments.error(text));
        }
        self.json.push(if len.is_some() { b'[' } else { b'{' })?;
        self.open.push(match len {
            Some(len) => Open::Array {
                table: table.clone(),
                written: 0,
                len,
            },
            None => Open::Object {
                left: Pairs::of(self.arguments.lua, table.clone())?,
                first: true,
            },
        });
        Ok(())
    }

    /// The length of a table whose keys are all indices. A table without keys is an object.
    fn array_len(&self, table: &Table) -> mlua::Result<Option<i64>> {
        let (mut max, mut items) = (0.0_f64, 0.0);
        for pair in table.pairs::<Value, Value>() {
            let index = match pair?.0 {
                Value::Integer(index) => index as f64,
                Value::Number(index) => index,
                _ => return Ok(None),
            };
            if index.floor() != index || index < 1.0 {
                return Ok(None);
            }
            max = max.max(index);
            items += 1.0;
        }
        if max > items * SPARSE_RATIO && max > SPARSE_SAFE {
            return Err(self.refuse(&Value::Table(table.clone()), "excessively sparse array"));
        }
        Ok((max > 0.0).then_some(max as i64))
    }
}
