//! `cmsgpack`: Lua's values to MessagePack and back (`lua_cmsgpack.c`).

use lua_types::LuaError;

use super::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::convert::pairs;
use crate::engine::script::lua::{self, Lua, MAX_SLOTS, Returned, Table, Value};
use crate::engine::script::meter;

/// `LUACMSGPACK_MAX_NESTING`: tables nested more deeply become nil.
const MAX_NESTING: usize = 16;
/// The maximum nesting of unpacked values. (Redis is limited by the Lua stack, to a few
/// thousand.)
const MAX_UNPACKED_NESTING: usize = 200;

/// The stack space that unpacking a value needs.
const TOO_MANY: &str = "too many return values at once; use unpack_one or unpack_limit instead.";

pub(super) fn table(lua: &mut Lua) -> lua::Result<Table> {
    let table = lua::library(
        lua,
        &[
            ("pack", pack),
            ("unpack", unpack),
            ("unpack_one", unpack_one),
            ("unpack_limit", unpack_limit),
        ],
    )?;
    for (name, text) in [
        ("_NAME", "cmsgpack"),
        ("_VERSION", "lua-cmsgpack 0.4.0"),
        ("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
        ("_DESCRIPTION", "MessagePack C implementation for Lua"),
    ] {
        let text = lua::string(lua, text.as_bytes())?;
        lua::set_field(lua, &table, name, text)?;
    }
    Ok(table)
}

/// `cmsgpack.pack(value, …)`: packs the values one after the other.
fn pack(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    if arguments.len() == 0 {
        return Err(arguments::bad(lua, 0, "MessagePack pack needs input."));
    }
    // Redis copies each of them to the top of the stack.
    if arguments.len() > MAX_SLOTS / 2 {
        return Err(arguments::bad(
            lua,
            0,
            "Too many arguments for MessagePack pack.",
        ));
    }
    let mut packer = Packer {
        lua,
        out: Buffer::default(),
    };
    for value in arguments.values() {
        packer.value(*value, 0)?;
    }
    let packed = packer.out.into_string(lua)?;
    lua::result(lua, packed)
}

struct Packer<'a> {
    lua: &'a mut Lua,
    out: Buffer,
}

impl Packer<'_> {
    fn write(&mut self, bytes: &[u8]) -> lua::Result<()> {
        self.out.extend(self.lua, bytes)
    }

    fn value(&mut self, value: Value, level: usize) -> lua::Result<()> {
        meter::count_value(self.lua)?;
        match value {
            Value::Str(text) => {
                let text = text.as_bytes();
                self.write(&head(text.len(), &TEXT))?;
                self.write(text)
            }
            Value::Bool(false) => self.write(&[0xc2]),
            Value::Bool(true) => self.write(&[0xc3]),
            Value::Int(number) => self.write(&integer(number)),
            Value::Float(number) => self.write(&float(number)),
            Value::Table(table) if level < MAX_NESTING => self.table(table, level),
            _ => self.write(&[0xc0]),
        }
    }

    fn table(&mut self, table: Table, level: usize) -> lua::Result<()> {
        let (count, is_array) = shape(table);
        if is_array {
            self.write(&head(count, &ARRAY))?;
            for index in 1..=count {
                self.value(table.get_int(index as i64), level + 1)?;
            }
            return Ok(());
        }
        self.write(&head(count, &MAP))?;
        for (key, value) in pairs(table) {
            self.value(key, level + 1)?;
            self.value(value, level + 1)?;
        }
        Ok(())
    }
}

/// The number of a table's pairs, and whether their keys are the numbers from 1 to it.
fn shape(table: Table) -> (usize, bool) {
    let (mut count, mut max, mut only_indices) = (0, 0, true);
    for (key, _) in pairs(table) {
        count += 1;
        match key {
            Value::Int(index @ 1..) => max = index.max(max),
            _ => only_indices = false,
        }
    }
    (count, only_indices && max == count as i64)
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
fn unpack(lua: &mut Lua) -> Returned {
    unpack_some(lua, 0, 0)
}

/// `cmsgpack.unpack_one(text [, offset])`: returns the next offset and a value.
fn unpack_one(lua: &mut Lua) -> Returned {
    let offset = Arguments::of(lua).optional_integer(lua, 2, 0)?;
    unpack_some(lua, 1, offset)
}

/// `cmsgpack.unpack_limit(text, limit [, offset])`: returns the next offset and at most `limit`
/// values.
fn unpack_limit(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let limit = arguments.number(lua, 2)? as i64;
    let offset = arguments.optional_integer(lua, 3, 0)?;
    unpack_some(lua, limit, offset)
}

/// `mp_unpack_full`. Without limit and offset it unpacks everything, and does not return the next
/// offset.
fn unpack_some(lua: &mut Lua, limit: i64, offset: i64) -> Returned {
    let text = Arguments::of(lua).string(lua, 1)?;
    // C's `int`s.
    let (limit, offset) = (limit as i32, offset as i32);
    let (Ok(count), Ok(start)) = (usize::try_from(limit), usize::try_from(offset)) else {
        let len = text.len();
        let why = format!("Invalid request to unpack with offset of {offset} and limit of {len}.");
        return Err(arguments::error(lua, why));
    };
    let Some(input) = text.get(start..) else {
        let len = text.len();
        let why = format!("Start offset {start} greater than input length {len}.");
        return Err(arguments::error(lua, why));
    };
    let everything = count == 0 && start == 0;
    let count = if everything { usize::MAX } else { count };
    let mut unpacker = Unpacker {
        lua,
        rest: input,
        // Redis drops all arguments but the text.
        slots: 1,
    };
    // The place of the next offset.
    let mut values = vec![Value::Nil];
    while values.len() <= count && !unpacker.rest.is_empty() {
        values.push(unpacker.value(0)?);
        unpacker.slots += 1;
    }
    if everything {
        return lua::results(lua, &values[1..]);
    }
    unpacker.need_slot("in function mp_unpack_full")?;
    let next = match unpacker.rest.len() {
        0 => -1.0,
        left => (text.len() - left) as f64,
    };
    values[0] = lua::number(next);
    lua::results(lua, &values)
}

struct Unpacker<'a> {
    lua: &'a mut Lua,
    rest: &'a [u8],
    /// The height of the stack that Redis would have: the text, the results, and what is being
    /// built.
    slots: usize,
}

impl<'a> Unpacker<'a> {
    fn value(&mut self, level: usize) -> lua::Result<Value> {
        meter::count_value(self.lua)?;
        let [kind] = self.array()?;
        self.need_slot(TOO_MANY)?;
        Ok(match kind {
            0x00..=0x7f => lua::number(kind),
            0x80..=0x8f => self.map((kind & 0xf).into(), level)?,
            0x90..=0x9f => self.list((kind & 0xf).into(), level)?,
            0xa0..=0xbf => self.text((kind & 0x1f).into())?,
            0xc0 => Value::Nil,
            0xc2 => Value::Bool(false),
            0xc3 => Value::Bool(true),
            0xca => lua::number(f32::from_be_bytes(self.array()?)),
            0xcb => lua::number(f64::from_be_bytes(self.array()?)),
            0xcc => lua::number(u8::from_be_bytes(self.array()?)),
            0xcd => lua::number(u16::from_be_bytes(self.array()?)),
            0xce => lua::number(u32::from_be_bytes(self.array()?)),
            0xd0 => lua::number(i8::from_be_bytes(self.array()?)),
            0xd1 => lua::number(i16::from_be_bytes(self.array()?)),
            0xd2 => lua::number(i32::from_be_bytes(self.array()?)),
            // Redis treats an unsigned one as signed.
            0xcf | 0xd3 => lua::number(i64::from_be_bytes(self.array()?) as f64),
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
            0xe0..=0xff => lua::number(kind as i8),
            _ => return Err(arguments::error(self.lua, "Bad data format in input.")),
        })
    }

    fn array<const LEN: usize>(&mut self) -> lua::Result<[u8; LEN]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.missing());
        };
        self.rest = rest;
        Ok(*bytes)
    }

    fn text(&mut self, len: usize) -> lua::Result<Value> {
        let Some((text, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.missing());
        };
        self.rest = rest;
        meter::count_bytes(self.lua, len)?;
        lua::string(self.lua, text)
    }

    fn missing(&mut self) -> LuaError {
        arguments::error(self.lua, "Missing bytes in input.")
    }

    fn list(&mut self, len: u32, level: usize) -> lua::Result<Value> {
        const PLACE: &str = "in function mp_decode_to_lua_array";
        let table = self.table(level, PLACE)?;
        self.slots += 1;
        self.need_slot(PLACE)?;
        // The index.
        self.slots += 1;
        for index in 1..=len as usize {
            let value = self.value(level + 1)?;
            lua::set_index(self.lua, &table, index, value)?;
        }
        self.slots -= 2;
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: u32, level: usize) -> lua::Result<Value> {
        let table = self.table(level, TOO_MANY)?;
        self.slots += 1;
        for _ in 0..len {
            let key = self.value(level + 1)?;
            self.slots += 1;
            let value = self.value(level + 1)?;
            self.slots -= 1;
            // Lua itself rejects these, and then names no line.
            match &key {
                Value::Nil => return Err(lua::error("table index is nil")),
                Value::Float(number) if number.is_nan() => {
                    return Err(lua::error("table index is NaN"));
                }
                _ => lua::set(self.lua, &table, key, value)?,
            }
        }
        self.slots -= 1;
        Ok(Value::Table(table))
    }

    fn table(&mut self, level: usize, place: &str) -> lua::Result<Table> {
        match level < MAX_UNPACKED_NESTING {
            true => lua::table(self.lua, 0),
            false => Err(self.overflow(place)),
        }
    }

    /// `luaL_checkstack` for one more value.
    fn need_slot(&mut self, place: &str) -> lua::Result<()> {
        match self.slots + 1 > MAX_SLOTS {
            true => Err(self.overflow(place)),
            false => Ok(()),
        }
    }

    fn overflow(&mut self, place: &str) -> LuaError {
        arguments::error(self.lua, format!("stack overflow ({place})"))
    }
}
