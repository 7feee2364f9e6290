//! `cmsgpack`: Lua's values to MessagePack and back (`lua_cmsgpack.c`).

use mlua::{Lua, MultiValue, Table, Value, Variadic};

use super::arguments::Arguments;
use crate::engine::script::error;
use crate::engine::script::memory::Buffer;
use crate::engine::script::meter::Meter;
use crate::engine::script::walk::{MAX_SLOTS, Pairs, Results, Returned};

/// `LUACMSGPACK_MAX_NESTING`: tables nested more deeply become nil.
const MAX_NESTING: usize = 16;
/// The maximum nesting of unpacked values. (Redis is limited by the Lua stack, to a few
/// thousand.)
const MAX_UNPACKED_NESTING: usize = 200;

/// The stack space that unpacking a value needs.
const TOO_MANY: &str = "too many return values at once; use unpack_one or unpack_limit instead.";

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("pack", lua.create_function(pack)?)?;
    table.set("unpack", lua.create_function(unpack)?)?;
    table.set("unpack_one", lua.create_function(unpack_one)?)?;
    table.set("unpack_limit", lua.create_function(unpack_limit)?)?;
    table.set("_NAME", "cmsgpack")?;
    table.set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.set("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo")?;
    table.set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    Ok(table)
}

/// `cmsgpack.pack(value, …)`: packs the values one after the other.
fn pack(lua: &Lua, values: MultiValue) -> mlua::Result<mlua::LuaString> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    if values.is_empty() {
        return Err(arguments.bad(0, "MessagePack pack needs input."));
    }
    // Redis copies each of them to the top of the stack.
    if values.len() > MAX_SLOTS / 2 {
        return Err(arguments.bad(0, "Too many arguments for MessagePack pack."));
    }
    let mut packer = Packer {
        lua,
        out: Buffer::new(lua),
    };
    for value in &values {
        packer.value(value, 0)?;
    }
    packer.out.into_string()
}

struct Packer<'a> {
    lua: &'a Lua,
    out: Buffer<'a>,
}

impl Packer<'_> {
    fn value(&mut self, value: &Value, level: usize) -> mlua::Result<()> {
        Meter::count_value(self.lua)?;
        match value {
            Value::String(text) => {
                let text = text.as_bytes();
                self.out.extend(&head(text.len(), &TEXT))?;
                self.out.extend(&text)
            }
            Value::Boolean(false) => self.out.push(0xc2),
            Value::Boolean(true) => self.out.push(0xc3),
            Value::Integer(number) => self.out.extend(&integer(*number)),
            Value::Number(number) => self.out.extend(&float(*number)),
            Value::Table(table) if level < MAX_NESTING => self.table(table, level),
            _ => self.out.push(0xc0),
        }
    }

    fn table(&mut self, table: &Table, level: usize) -> mlua::Result<()> {
        let (count, is_array) = self.shape(table)?;
        if is_array {
            self.out.extend(&head(count, &ARRAY))?;
            for index in 1..=count {
                self.value(&table.raw_get(index)?, level + 1)?;
            }
            return Ok(());
        }
        self.out.extend(&head(count, &MAP))?;
        let mut pairs = Pairs::of(self.lua, table.clone())?;
        while let Some((key, value)) = pairs.next()? {
            self.value(&key, level + 1)?;
            self.value(&value, level + 1)?;
        }
        Ok(())
    }

    /// The number of a table's pairs, and whether their keys are the numbers from 1 to it.
    fn shape(&self, table: &Table) -> mlua::Result<(usize, bool)> {
        let (mut count, mut max, mut only_indices) = (0, 0, true);
        let mut pairs = Pairs::of(self.lua, table.clone())?;
        while let Some((key, _)) = pairs.next()? {
            count += 1;
            match key {
                Value::Integer(index @ 1..) => max = index.max(max),
                _ => only_indices = false,
            }
        }
        Ok((count, only_indices && max == count as i64))
    }
}

fn float(number: f64) -> Vec<u8> {
    // 2^63, the first number that does not fit into 64 bits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let short = number as f32;
    if (-END..END).contains(&number) && number.trunc() == number {
        integer(number as i64)
    } else if f64::from(short) == number {
        [&[0xca], &short.to_be_bytes()[..]].concat()
    } else {
        [&[0xcb], &number.to_be_bytes()[..]].concat()
    }
}

fn integer(number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let (kind, len) = match number {
        -32..=0x7f => return vec![number as u8],
        0x80..=0xff => (0xcc, 1),
        0x100..=0xffff => (0xcd, 2),
        0x1_0000..=0xffff_ffff => (0xce, 4),
        0x1_0000_0000.. => (0xcf, 8),
        -0x80..-32 => (0xd0, 1),
        -0x8000..-0x80 => (0xd1, 2),
        -0x8000_0000..-0x8000 => (0xd2, 4),
        ..-0x8000_0000 => (0xd3, 8),
    };
    [&[kind], &bytes[8 - len..]].concat()
}

/// The first byte of each encoding of a type that has a length.
struct Markers {
    /// The encoding with the length in the first byte, and the number of lengths that fit.
    fixed: (u8, usize),
    /// The encoding with the length in the next byte, if the type has one.
    eight: Option<u8>,
    sixteen: u8,
    thirty_two: u8,
}

const TEXT: Markers = Markers {
    fixed: (0xa0, 32),
    eight: Some(0xd9),
    sixteen: 0xda,
    thirty_two: 0xdb,
};
const ARRAY: Markers = Markers {
    fixed: (0x90, 16),
    eight: None,
    sixteen: 0xdc,
    thirty_two: 0xdd,
};
const MAP: Markers = Markers {
    fixed: (0x80, 16),
    eight: None,
    sixteen: 0xde,
    thirty_two: 0xdf,
};

fn head(len: usize, heads: &Markers) -> Vec<u8> {
    match heads.eight {
        _ if len < heads.fixed.1 => vec![heads.fixed.0 | len as u8],
        Some(head) if len <= 0xff => vec![head, len as u8],
        _ if len <= 0xffff => [&[heads.sixteen], &(len as u16).to_be_bytes()[..]].concat(),
        _ => [&[heads.thirty_two], &(len as u32).to_be_bytes()[..]].concat(),
    }
}

/// `cmsgpack.unpack(text)`: returns every value in the text.
fn unpack(lua: &Lua, values: MultiValue) -> mlua::Result<Variadic<Returned>> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    unpack_some(&arguments, 0, 0)
}

/// `cmsgpack.unpack_one(text [, offset])`: returns the next offset and a value.
fn unpack_one(lua: &Lua, values: MultiValue) -> mlua::Result<Variadic<Returned>> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    let offset = arguments.optional_integer(2, 0)?;
    unpack_some(&arguments, 1, offset)
}

/// `cmsgpack.unpack_limit(text, limit [, offset])`: returns the next offset and at most `limit`
/// values.
fn unpack_limit(lua: &Lua, values: MultiValue) -> mlua::Result<Variadic<Returned>> {
    let arguments = Arguments {
        lua,
        values: &values,
    };
    let limit = arguments.number(2)? as i64;
    let offset = arguments.optional_integer(3, 0)?;
    unpack_some(&arguments, limit, offset)
}

/// `mp_unpack_full`. Without limit and offset it unpacks everything, and does not return the next
/// offset.
fn unpack_some(
    arguments: &Arguments<'_>,
    limit: i64,
    offset: i64,
) -> mlua::Result<Variadic<Returned>> {
    let text = arguments.string(1)?;
    // C's `int`s.
    let (limit, offset) = (limit as i32, offset as i32);
    let (Ok(count), Ok(start)) = (usize::try_from(limit), usize::try_from(offset)) else {
        let len = text.len();
        return Err(arguments.error(format!(
            "Invalid request to unpack with offset of {offset} and limit of {len}."
        )));
    };
    let Some(input) = text.get(start..) else {
        let len = text.len();
        return Err(arguments.error(format!(
            "Start offset {start} greater than input length {len}."
        )));
    };
    let everything = count == 0 && start == 0;
    let count = if everything { usize::MAX } else { count };
    let mut unpacker = Unpacker {
        arguments,
        rest: input,
        // Redis drops all arguments but the text.
        slots: 1,
    };
    let mut values = Results::new(arguments.lua)?;
    while values.len() < count && !unpacker.rest.is_empty() {
        values.push(unpacker.value(0)?)?;
        unpacker.slots += 1;
    }
    if everything {
        return Ok(values.after(None));
    }
    unpacker.need_slot("in function mp_unpack_full")?;
    let next = match unpacker.rest.len() {
        0 => -1,
        left => (text.len() - left) as i64,
    };
    Ok(values.after(Some(next)))
}

struct Unpacker<'a> {
    arguments: &'a Arguments<'a>,
    rest: &'a [u8],
    /// The height of the stack that Redis would have: the text, the results, and what is being
    /// built.
    slots: usize,
}

impl<'a> Unpacker<'a> {
    fn value(&mut self, level: usize) -> mlua::Result<Value> {
        Meter::count_value(self.arguments.lua)?;
        let [kind] = self.array()?;
        self.need_slot(TOO_MANY)?;
        Ok(match kind {
            0x00..=0x7f => Value::Integer(kind.into()),
            0x80..=0x8f => self.map((kind & 0xf).into(), level)?,
            0x90..=0x9f => self.list((kind & 0xf).into(), level)?,
            0xa0..=0xbf => self.text((kind & 0x1f).into())?,
            0xc0 => Value::Nil,
            0xc2 => Value::Boolean(false),
            0xc3 => Value::Boolean(true),
            0xca => Value::Number(f32::from_be_bytes(self.array()?).into()),
            0xcb => Value::Number(f64::from_be_bytes(self.array()?)),
            0xcc => Value::Integer(u8::from_be_bytes(self.array()?).into()),
            0xcd => Value::Integer(u16::from_be_bytes(self.array()?).into()),
            0xce => Value::Integer(u32::from_be_bytes(self.array()?).into()),
            0xd0 => Value::Integer(i8::from_be_bytes(self.array()?).into()),
            0xd1 => Value::Integer(i16::from_be_bytes(self.array()?).into()),
            0xd2 => Value::Integer(i32::from_be_bytes(self.array()?).into()),
            // Redis treats an unsigned one as signed.
            0xcf | 0xd3 => Value::Number(i64::from_be_bytes(self.array()?) as f64),
            0xd9 => {
                let len = u8::from_be_bytes(self.array()?);
                self.text(len.into())?
            }
            0xda => {
                let len = u16::from_be_bytes(self.array()?);
                self.text(len.into())?
            }
            0xdb => {
                let len = u32::from_be_bytes(self.array()?);
                self.text(len as usize)?
            }
            0xdc => {
                let len = u16::from_be_bytes(self.array()?);
                self.list(len.into(), level)?
            }
            0xdd => {
                let len = u32::from_be_bytes(self.array()?);
                self.list(len, level)?
            }
            0xde => {
                let len = u16::from_be_bytes(self.array()?);
                self.map(len.into(), level)?
            }
            0xdf => {
                let len = u32::from_be_bytes(self.array()?);
                self.map(len, level)?
            }
            0xe0..=0xff => Value::Integer((kind as i8).into()),
            _ => return Err(self.arguments.error("Bad data format in input.")),
        })
    }

    fn array<const LEN: usize>(&mut self) -> mlua::Result<[u8; LEN]> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.missing())?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn text(&mut self, len: usize) -> mlua::Result<Value> {
        let (text, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| self.missing())?;
        self.rest = rest;
        Meter::count_bytes(self.arguments.lua, len)?;
        Ok(Value::String(self.arguments.lua.create_string(text)?))
    }

    fn missing(&self) -> mlua::Error {
        self.arguments.error("Missing bytes in input.")
    }

    fn list(&mut self, len: u32, level: usize) -> mlua::Result<Value> {
        const PLACE: &str = "in function mp_decode_to_lua_array";
        let table = self.table(level, PLACE)?;
        self.slots += 1;
        self.need_slot(PLACE)?;
        // The index.
        self.slots += 1;
        for index in 1..=len {
            let value = self.value(level + 1)?;
            table.raw_set(index, value)?;
        }
        self.slots -= 2;
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: u32, level: usize) -> mlua::Result<Value> {
        let table = self.table(level, TOO_MANY)?;
        self.slots += 1;
        for _ in 0..len {
            let key = self.value(level + 1)?;
            self.slots += 1;
            let value = self.value(level + 1)?;
            self.slots -= 1;
            // Lua itself rejects these, and then names no line.
            match &key {
                Value::Nil => return Err(error::raise_message(b"table index is nil".to_vec())),
                Value::Number(number) if number.is_nan() => {
                    return Err(error::raise_message(b"table index is NaN".to_vec()));
                }
                _ => table.raw_set(key, value)?,
            }
        }
        self.slots -= 1;
        Ok(Value::Table(table))
    }

    fn table(&self, level: usize, place: &str) -> mlua::Result<Table> {
        match level < MAX_UNPACKED_NESTING {
            true => self.arguments.lua.create_table(),
            false => Err(self.overflow(place)),
        }
    }

    /// `luaL_checkstack` for one more value.
    fn need_slot(&self, place: &str) -> mlua::Result<()> {
        match self.slots + 1 > MAX_SLOTS {
            true => Err(self.overflow(place)),
            false => Ok(()),
        }
    }

    fn overflow(&self, place: &str) -> mlua::Error {
        self.arguments.error(format!("stack overflow ({place})"))
    }
}
