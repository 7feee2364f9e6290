//! `struct`: numbers and strings in the memory layout of C (`lua_struct.c`).

use mlua::{Lua, MultiValue, Table, Value, Variadic};

use super::arguments::{Arguments, to_number};
use crate::engine::script::memory::Buffer;
use crate::engine::script::meter::Meter;
use crate::engine::script::walk::{MAX_SLOTS, Results, Returned};

/// `MAXINTSIZE`: the longest integer, in bytes. Only the lowest eight are ever nonzero.
const MAX_INTEGER_BYTES: usize = 32;
/// `MAXALIGN` on a 64-bit machine, in bytes.
const NATURAL_ALIGNMENT: usize = 8;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("pack", lua.create_function(pack)?)?;
    table.set("unpack", lua.create_function(unpack)?)?;
    table.set("size", lua.create_function(size)?)?;
    Ok(table)
}

/// `struct.pack(format, value, …)`.
fn pack(lua: &Lua, values: MultiValue) -> mlua::Result<mlua::LuaString> {
    // Redis marks the end of the arguments with a nil.
    let given = values.len();
    let mut values = values;
    values.push_back(Value::Nil);
    let arguments = &Arguments {
        lua,
        values: &values,
    };
    if given == 0 {
        let none = Arguments {
            lua,
            values: &MultiValue::new(),
        };
        none.string(1)?;
    }
    let format = arguments.string(1)?;
    Meter::count_bytes(lua, format.len())?;
    let mut layout = Layout::new(arguments, &format);
    let mut out = Buffer::new(lua);
    let mut index = 2;
    while let Some(field) = layout.next()? {
        out.pad(layout.padding(out.len(), &field))?;
        let Field { option, size } = field;
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let bits = to_bits(arguments.number(index)?);
                out.extend(&layout.order.bytes(&bits.to_le_bytes(), size))?;
                index += 1;
            }
            b'x' => out.push(0)?,
            b'f' => {
                let number = arguments.number(index)? as f32;
                out.extend(&layout.order.bytes(&number.to_le_bytes(), size))?;
                index += 1;
            }
            b'd' => {
                let number = arguments.number(index)?;
                out.extend(&layout.order.bytes(&number.to_le_bytes(), size))?;
                index += 1;
            }
            b'c' | b's' => {
                let text = arguments.string(index)?;
                index += 1;
                let size = if size == 0 { text.len() } else { size };
                let part = text.get(..size);
                out.extend(part.ok_or_else(|| arguments.bad(index, "string too short"))?)?;
                if option == b's' {
                    out.push(0)?;
                }
            }
            _ => layout.control(option)?,
        }
    }
    out.into_string()
}

/// C's conversions of a `double` to a `long`, or to an `unsigned long` if it is too large for
/// that, as on x86.
fn to_bits(number: f64) -> u64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if number < END {
        number as i64 as u64
    } else if number.is_nan() {
        1 << 63
    } else if number < 2.0 * END {
        number as u64
    } else {
        0
    }
}

/// `struct.unpack(format, text [, position])`: returns the values, and the position after them.
fn unpack(lua: &Lua, values: MultiValue) -> mlua::Result<Variadic<Returned>> {
    let arguments = &Arguments {
        lua,
        values: &values,
    };
    let format = arguments.string(1)?;
    let data = arguments.string(2)?;
    let start = arguments.optional_integer(3, 1)?;
    if start == 0 {
        return Err(arguments.bad(3, "offset must be 1 or greater"));
    }
    let too_short = || arguments.bad(2, "data string too short");
    // A negative position is treated as a large one.
    let mut at = usize::try_from(start.saturating_sub(1)).unwrap_or(usize::MAX / 2);
    let mut layout = Layout::new(arguments, &format);
    let mut found = Results::new(lua)?;
    while let Some(field) = layout.next()? {
        Meter::count_value(lua)?;
        at += layout.padding(at, &field);
        let Field { option, mut size } = field;
        let rest = data.get(at..).ok_or_else(too_short)?;
        let bytes = rest.get(..size).ok_or_else(too_short)?;
        // For the item and the next position.
        if values.len() + found.len() + 2 > MAX_SLOTS {
            return Err(arguments.error("stack overflow (too many results)"));
        }
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let number = layout.order.integer(bytes, option.is_ascii_lowercase());
                found.push(Value::Number(number))?;
            }
            b'x' => {}
            b'f' => {
                let number = f32::from_le_bytes(layout.order.read(bytes));
                found.push(Value::Number(number.into()))?;
            }
            b'd' => {
                let number = f64::from_le_bytes(layout.order.read(bytes));
                found.push(Value::Number(number))?;
            }
            b'c' => {
                if size == 0 {
                    let previous = found.pop()?.map(|value| to_number(lua, &value));
                    let previous = previous.transpose()?.flatten();
                    let len = previous
                        .ok_or_else(|| arguments.error("format 'c0' needs a previous size"))?;
                    size = usize::try_from(to_bits(len)).unwrap_or(usize::MAX);
                }
                let text = rest.get(..size).ok_or_else(too_short)?;
                Meter::count_bytes(lua, text.len())?;
                found.push(Value::String(lua.create_string(text)?))?;
            }
            b's' => {
                let end = rest.iter().position(|byte| *byte == 0);
                let end = end.ok_or_else(|| arguments.error("unfinished string in data"))?;
                Meter::count_bytes(lua, end)?;
                found.push(Value::String(lua.create_string(&rest[..end])?))?;
                size = end + 1;
            }
            _ => layout.control(option)?,
        }
        at += size;
    }
    found.push(Value::Integer(at as i64 + 1))?;
    Ok(found.after(None))
}

/// `struct.size(format)`: returns the size in bytes.
fn size(lua: &Lua, values: MultiValue) -> mlua::Result<f64> {
    let arguments = &Arguments {
        lua,
        values: &values,
    };
    let format = arguments.string(1)?;
    Meter::count_bytes(lua, format.len())?;
    let mut layout = Layout::new(arguments, &format);
    let mut total = 0;
    while let Some(field) = layout.next()? {
        total += layout.padding(total, &field);
        match (field.option, field.size) {
            (b's', _) => return Err(arguments.bad(1, "option 's' has no fixed size")),
            (b'c', 0) => return Err(arguments.bad(1, "option 'c0' has no fixed size")),
            (option, _) if !option.is_ascii_alphanumeric() => layout.control(option)?,
            _ => {}
        }
        total += field.size;
    }
    Ok(total as f64)
}

/// One letter of a format, with its size in bytes.
struct Field {
    option: u8,
    size: usize,
}

/// A format that is being parsed.
struct Layout<'a> {
    arguments: &'a Arguments<'a>,
    rest: &'a [u8],
    order: Order,
    /// The maximum alignment, in bytes; 1 for none.
    alignment: usize,
}

impl<'a> Layout<'a> {
    fn new(arguments: &'a Arguments<'a>, format: &'a [u8]) -> Self {
        // A C string ends at its first NUL.
        let end = format.iter().position(|byte| *byte == 0);
        Layout {
            arguments,
            rest: &format[..end.unwrap_or(format.len())],
            order: Order::LittleEndian,
            alignment: 1,
        }
    }

    fn next(&mut self) -> mlua::Result<Option<Field>> {
        let [option, rest @ ..] = self.rest else {
            return Ok(None);
        };
        self.rest = rest;
        let size = match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(1)?,
            b'i' | b'I' => {
                let size = self.number(4)?;
                if size > MAX_INTEGER_BYTES {
                    return Err(self.arguments.error(format!(
                        "integral size {size} is larger than limit of {MAX_INTEGER_BYTES}"
                    )));
                }
                size
            }
            _ => 0,
        };
        let option = *option;
        Ok(Some(Field { option, size }))
    }

    /// Parses the next number, or returns the default.
    fn number(&mut self, default: usize) -> mlua::Result<usize> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(digits.count());
        self.rest = rest;
        if digits.is_empty() {
            return Ok(default);
        }
        let text = String::from_utf8_lossy(digits);
        let number = text.parse::<i32>().ok();
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| self.arguments.error("integral size overflow"))
    }

    /// The number of padding bytes before a field at `at`.
    fn padding(&self, at: usize, field: &Field) -> usize {
        if field.size == 0 || field.option == b'c' {
            return 0;
        }
        let size = field.size.min(self.alignment);
        size.wrapping_sub(at & (size - 1)) & (size - 1)
    }

    /// Handles a letter that is not a field.
    fn control(&mut self, option: u8) -> mlua::Result<()> {
        match option {
            b' ' => {}
            b'>' => self.order = Order::BigEndian,
            b'<' => self.order = Order::LittleEndian,
            b'!' => {
                let alignment = self.number(NATURAL_ALIGNMENT)?;
                if !alignment.is_power_of_two() {
                    return Err(self
                        .arguments
                        .error(format!("alignment {alignment} is not a power of 2")));
                }
                self.alignment = alignment;
            }
            _ => {
                let why = [b"invalid format option '", &[option][..], b"'"].concat();
                return Err(self.arguments.bad(1, why));
            }
        }
        Ok(())
    }
}

/// Byte order.
#[derive(Copy, Clone, PartialEq)]
enum Order {
    LittleEndian,
    BigEndian,
}

impl Order {
    /// A number, truncated or padded with zeros to `size` bytes.
    fn bytes(self, little_endian: &[u8], size: usize) -> Vec<u8> {
        let zeros = std::iter::repeat(&0);
        let mut bytes: Vec<u8> = little_endian
            .iter()
            .chain(zeros)
            .take(size)
            .copied()
            .collect();
        if self == Order::BigEndian {
            bytes.reverse();
        }
        bytes
    }

    /// The first bytes, least significant first.
    fn read<const LEN: usize>(self, bytes: &[u8]) -> [u8; LEN] {
        let mut all = [0; LEN];
        let first: Box<dyn Iterator<Item = &u8>> = match self {
            Order::LittleEndian => Box::new(bytes.iter()),
            Order::BigEndian => Box::new(bytes.iter().rev()),
        };
        for (to, from) in all.iter_mut().zip(first) {
            *to = *from;
        }
        all
    }

    fn integer(self, bytes: &[u8], signed: bool) -> f64 {
        let bits = u64::from_le_bytes(self.read(bytes));
        if !signed {
            return bits as f64;
        }
        // Bytes after the eighth are dropped, and x86 shifts modulo 64.
        let sign_and_above = u64::MAX << ((8 * bytes.len().max(1) - 1) % 64);
        match bits & sign_and_above {
            0 => bits as f64,
            _ => (bits | sign_and_above) as i64 as f64,
        }
    }
}
