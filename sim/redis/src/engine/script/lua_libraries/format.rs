//! `string.format` (`lstrlib.c`), with C's `printf`: the interpreter's own has other digits, and asks
//! for no room.

use lua_types::LuaError;

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, Returned, before_zero, truncate};

/// The length from which a text is not formatted, if it has no precision.
const LONG: usize = 100;

/// What is between `%` and the letter of a conversion.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

/// `string.format(template, …)`.
pub(super) fn format(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let template = arguments.string(lua, 1)?;
    let mut out = Buffer::default();
    let mut left = &template[..];
    let mut index = 1;
    while let Some((first, rest)) = left.split_first() {
        left = rest;
        if *first != b'%' {
            out.push(lua, *first)?;
            continue;
        }
        if left.first() == Some(&b'%') {
            out.push(lua, b'%')?;
            left = &left[1..];
            continue;
        }
        index += 1;
        if index > arguments.len() {
            return Err(arguments::bad(lua, index, "no value"));
        }
        let (spec, rest) = spec(lua, left)?;
        let letter = rest.first().copied().unwrap_or(0);
        left = rest.get(1..).unwrap_or_default();
        let text = match letter {
            b'c' => {
                let byte = truncate(arguments.number(lua, index)?) as u8;
                spec.padded("", vec![byte], false)
            }
            b'd' | b'i' => {
                let number = truncate(arguments.number(lua, index)?);
                spec.integer(number < 0, "", number.unsigned_abs().to_string())
            }
            b'o' | b'u' | b'x' | b'X' => {
                let number = unsigned(arguments.number(lua, index)?);
                spec.unsigned(letter, number)
            }
            b'e' | b'E' | b'f' | b'g' | b'G' => spec.float(letter, arguments.number(lua, index)?),
            b'q' => {
                let text = arguments.string(lua, index)?;
                quote(lua, &text, &mut out)?;
                continue;
            }
            b's' => {
                let text = arguments.string(lua, index)?;
                if spec.precision.is_none() && text.len() >= LONG {
                    out.extend(lua, &text)?;
                    continue;
                }
                let text = before_zero(&text);
                let len = spec.precision.unwrap_or(text.len()).min(text.len());
                spec.padded("", text[..len].to_vec(), false)
            }
            other => return Err(invalid(lua, other)),
        };
        // C's `sprintf` ends at a zero.
        out.extend(lua, before_zero(&text))?;
    }
    let text = out.into_string(lua)?;
    lua::result(lua, text)
}

fn invalid(lua: &mut Lua, letter: u8) -> LuaError {
    let letter = [letter];
    let text = [b"invalid option '%", before_zero(&letter), b"' to 'format'"].concat();
    arguments::error(lua, text)
}

fn spec<'a>(lua: &mut Lua, text: &'a [u8]) -> lua::Result<(Spec, &'a [u8])> {
    let flags = text
        .iter()
        .take_while(|byte| b"-+ #0".contains(byte))
        .count();
    if flags > 5 {
        return Err(arguments::error(lua, "invalid format (repeated flags)"));
    }
    let (flags, mut rest) = text.split_at(flags);
    let width = digits(&mut rest);
    let precision = rest.strip_prefix(b".").map(|after| {
        rest = after;
        digits(&mut rest)
    });
    if rest.first().is_some_and(u8::is_ascii_digit) {
        let why = "invalid format (width or precision too long)";
        return Err(arguments::error(lua, why));
    }
    let has = |flag: u8| flags.contains(&flag);
    let spec = Spec {
        left: has(b'-'),
        plus: has(b'+'),
        space: has(b' '),
        alternate: has(b'#'),
        zeros: has(b'0'),
        width,
        precision,
    };
    Ok((spec, rest))
}

/// A number of at most two digits.
fn digits(text: &mut &[u8]) -> usize {
    let mut number = 0;
    for _ in 0..2 {
        let Some((digit @ b'0'..=b'9', rest)) = text.split_first() else {
            break;
        };
        number = number * 10 + usize::from(digit - b'0');
        *text = rest;
    }
    number
}

/// C's conversion of a `double` to an `unsigned long`, as on x86.
fn unsigned(number: f64) -> u64 {
    // 2^63
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    match number >= HALF {
        true => (truncate(number - HALF) as u64) ^ (1 << 63),
        false => truncate(number) as u64,
    }
}

impl Spec {
    fn padded(&self, sign: &str, body: Vec<u8>, zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(sign.len() + body.len());
        let (spaces, sign) = (vec![b' '; missing], sign.as_bytes().to_vec());
        match (self.left, zeros) {
            (true, _) => [sign, body, spaces].concat(),
            (false, true) => [sign, vec![b'0'; missing], body].concat(),
            (false, false) => [spaces, sign, body].concat(),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match negative {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        }
    }

    fn integer(&self, negative: bool, prefix: &str, mut digits: String) -> Vec<u8> {
        if self.precision == Some(0) && digits == "0" {
            digits.clear();
        }
        let missing = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let digits = "0".repeat(missing) + &digits;
        let sign = if prefix.is_empty() {
            self.sign(negative)
        } else {
            prefix
        };
        self.padded(
            sign,
            digits.into_bytes(),
            self.zeros && self.precision.is_none(),
        )
    }

    fn unsigned(&self, letter: u8, number: u64) -> Vec<u8> {
        let (digits, prefix) = match letter {
            b'o' if self.alternate && number != 0 => (format!("0{number:o}"), ""),
            b'o' => (format!("{number:o}"), ""),
            b'x' => (format!("{number:x}"), "0x"),
            b'X' => (format!("{number:X}"), "0X"),
            _ => (number.to_string(), ""),
        };
        let prefix = if self.alternate && number != 0 {
            prefix
        } else {
            ""
        };
        let plain = Spec {
            plus: false,
            space: false,
            ..*self
        };
        plain.integer(false, prefix, digits)
    }

    fn float(&self, letter: u8, number: f64) -> Vec<u8> {
        let (size, precision) = (number.abs(), self.precision.unwrap_or(6));
        let mut digits = match letter {
            _ if number.is_nan() => "nan".to_owned(),
            _ if number.is_infinite() => "inf".to_owned(),
            b'f' => self.fixed(size, precision),
            b'e' | b'E' => self.scientific(size, precision),
            _ => self.general(size, precision.max(1)),
        };
        if letter.is_ascii_uppercase() {
            digits.make_ascii_uppercase();
        }
        let sign = self.sign(number.is_sign_negative());
        self.padded(sign, digits.into_bytes(), self.zeros && number.is_finite())
    }

    fn fixed(&self, number: f64, precision: usize) -> String {
        let point = if self.alternate && precision == 0 {
            "."
        } else {
            ""
        };
        format!("{number:.precision$}{point}")
    }

    fn scientific(&self, number: f64, precision: usize) -> String {
        let (mantissa, exponent) = parts(number, precision);
        let point = if self.alternate && precision == 0 {
            "."
        } else {
            ""
        };
        format!("{mantissa}{point}{}", written(exponent))
    }

    fn general(&self, number: f64, precision: usize) -> String {
        let (mantissa, exponent) = parts(number, precision - 1);
        let (digits, exponent) = match (-4..precision as i32).contains(&exponent) {
            true => {
                let decimals = (precision as i32 - 1 - exponent) as usize;
                (self.fixed(number, decimals), String::new())
            }
            false => (mantissa, written(exponent)),
        };
        let digits = match digits.contains('.') && !self.alternate {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => &digits,
        };
        format!("{digits}{exponent}")
    }
}

/// A number as digits and an exponent of ten.
fn parts(number: f64, precision: usize) -> (String, i32) {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_owned(), exponent.parse().unwrap_or(0))
}

fn written(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.abs())
}

/// `%q`
fn quote(lua: &mut Lua, text: &[u8], out: &mut Buffer) -> lua::Result<()> {
    out.push(lua, b'"')?;
    for byte in text {
        match byte {
            b'"' | b'\\' | b'\n' => out.extend(lua, &[b'\\', *byte])?,
            b'\r' => out.extend(lua, b"\\r")?,
            0 => out.extend(lua, b"\\000")?,
            _ => out.push(lua, *byte)?,
        }
    }
    out.push(lua, b'"')
}
