//! `cjson.decode`: JSON to Lua's values (`lua_cjson.c`, with its default settings, which accept
//! some numbers that are invalid in JSON).

use lua_types::LuaError;

use super::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Returned, Table, Value};
use crate::engine::script::{memory, meter};
use crate::wire::float;

/// `encode_max_depth` and `decode_max_depth`.
pub(super) const MAX_DEPTH: usize = 1000;

/// `cjson.decode(text)`.
pub(super) fn decode(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    if arguments.len() != 1 {
        return Err(arguments::bad(lua, 1, "expected 1 argument"));
    }
    let text = arguments.string(lua, 1)?;
    if text.len() >= 2 && text[..2].contains(&0) {
        return Err(arguments::error(
            lua,
            "JSON parser does not support UTF-16 or UTF-32",
        ));
    }
    // Redis also makes room for the longest string that there may be, and it is longer than it has
    // to be here, too.
    memory::afford(lua, 2 * text.len())?;
    meter::count_bytes(lua, text.len())?;
    let mut decoder = Decoder {
        lua,
        text: &text,
        at: 0,
    };
    let value = decoder.value()?;
    match decoder.next() {
        Found {
            token: Token::End, ..
        } => lua::result(lua, value),
        other => Err(decoder.unexpected("the end", other)),
    }
}

struct Decoder<'a> {
    lua: &'a mut Lua,
    text: &'a [u8],
    at: usize,
}

/// An array or object that is not yet complete.
enum Open {
    Array { table: Table, len: usize },
    Object { table: Table, key: Value },
}

impl Open {
    fn add(&mut self, lua: &mut Lua, value: Value) -> lua::Result<()> {
        match self {
            Open::Array { table, len } => {
                *len += 1;
                lua::set_index(lua, table, *len, value)
            }
            Open::Object { table, key } => lua::set(lua, table, *key, value),
        }
    }
}

enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Invalid(&'static str),
}

/// A token and its position.
struct Found {
    token: Token,
    at: usize,
}

impl Decoder<'_> {
    /// Parses a value. The enclosing arrays and objects are on an explicit stack, because scripts
    /// control the depth.
    fn value(&mut self) -> lua::Result<Value> {
        let mut open = Vec::new();
        let mut found = self.next();
        loop {
            let mut value = match found.token {
                Token::String(text) => lua::string(self.lua, &text)?,
                Token::Number(number) => Value::Float(number),
                Token::Boolean(value) => Value::Bool(value),
                // A table cannot hold nil.
                Token::Null => lua::NULL,
                Token::ObjectBegin => {
                    let table = self.table(open.len() + 1)?;
                    found = self.next();
                    if !matches!(found.token, Token::ObjectEnd) {
                        let key = self.key(found)?;
                        open.push(Open::Object { table, key });
                        found = self.next();
                        continue;
                    }
                    Value::Table(table)
                }
                Token::ArrayBegin => {
                    let table = self.table(open.len() + 1)?;
                    found = self.next();
                    if !matches!(found.token, Token::ArrayEnd) {
                        open.push(Open::Array { table, len: 0 });
                        continue;
                    }
                    Value::Table(table)
                }
                _ => return Err(self.unexpected("value", found)),
            };
            // The value may be the last of its container, which may be the last of its own.
            loop {
                let Some(mut innermost) = open.pop() else {
                    return Ok(value);
                };
                meter::count_value(self.lua)?;
                innermost.add(self.lua, value)?;
                found = self.next();
                match (innermost, &found.token) {
                    (Open::Array { table, .. }, Token::ArrayEnd)
                    | (Open::Object { table, .. }, Token::ObjectEnd) => {
                        value = Value::Table(table);
                    }
                    (array @ Open::Array { .. }, Token::Comma) => {
                        open.push(array);
                        found = self.next();
                        break;
                    }
                    (Open::Object { table, .. }, Token::Comma) => {
                        found = self.next();
                        let key = self.key(found)?;
                        open.push(Open::Object { table, key });
                        found = self.next();
                        break;
                    }
                    (Open::Array { .. }, _) => {
                        return Err(self.unexpected("comma or array end", found));
                    }
                    (Open::Object { .. }, _) => {
                        return Err(self.unexpected("comma or object end", found));
                    }
                }
            }
        }
    }

    /// Parses a key whose first token was read, and the colon after it.
    fn key(&mut self, found: Found) -> lua::Result<Value> {
        let Token::String(key) = found.token else {
            return Err(self.unexpected("object key string", found));
        };
        let found = self.next();
        if !matches!(found.token, Token::Colon) {
            return Err(self.unexpected("colon", found));
        }
        lua::string(self.lua, &key)
    }

    fn table(&mut self, depth: usize) -> lua::Result<Table> {
        if depth > MAX_DEPTH {
            let at = self.at;
            let text = format!("Found too many nested data structures ({depth}) at character {at}");
            return Err(arguments::error(self.lua, text));
        }
        lua::table(self.lua, 0)
    }

    fn unexpected(&mut self, expected: &str, found: Found) -> LuaError {
        let name = match found.token {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Invalid(why) => why,
        };
        let place = found.at + 1;
        let text = format!("Expected {expected} but found {name} at character {place}");
        arguments::error(self.lua, text)
    }

    /// The byte at this distance; 0 after the end, as in C.
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Found {
        while matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let start = self.at;
        let mut single = |token| {
            self.at += 1;
            token
        };
        let token = match self.text.get(start).copied().unwrap_or(0) {
            b'{' => single(Token::ObjectBegin),
            b'}' => single(Token::ObjectEnd),
            b'[' => single(Token::ArrayBegin),
            b']' => single(Token::ArrayEnd),
            b',' => single(Token::Comma),
            b':' => single(Token::Colon),
            0 => Token::End,
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b'+' => self.number(),
            b't' | b'f' | b'n' | b'N' | b'i' | b'I' => self.word(),
            _ => Token::Invalid("invalid token"),
        };
        let at = match token {
            // The position of the error within the token.
            Token::Invalid(_) => self.at,
            _ => start,
        };
        Found { token, at }
    }

    fn word(&mut self) -> Token {
        let rest = &self.text[self.at..];
        for (name, token) in [
            ("true", Token::Boolean(true)),
            ("false", Token::Boolean(false)),
            ("null", Token::Null),
        ] {
            if rest.starts_with(name.as_bytes()) {
                self.at += name.len();
                return token;
            }
        }
        let start = rest.get(..3).unwrap_or_default().to_ascii_lowercase();
        match start.as_slice() {
            b"inf" | b"nan" => self.number(),
            _ => Token::Invalid("invalid token"),
        }
    }

    fn number(&mut self) -> Token {
        match float::prefix(&self.text[self.at..]) {
            Some((number, len)) => {
                self.at += len;
                Token::Number(number)
            }
            None => Token::Invalid("invalid number"),
        }
    }

    fn string(&mut self) -> Token {
        let mut text = Vec::new();
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => break,
                0 => return Token::Invalid("unexpected end of string"),
                b'\\' => {
                    let plain = match self.peek(1) {
                        b'u' => match self.unicode_escape() {
                            Some((character, len)) => {
                                let mut utf8 = [0; 4];
                                text.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                                self.at += len;
                                continue;
                            }
                            None => return Token::Invalid("invalid unicode escape code"),
                        },
                        escaped @ (b'"' | b'\\' | b'/') => escaped,
                        b'b' => 8,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'f' => 12,
                        b'r' => b'\r',
                        _ => return Token::Invalid("invalid escape code"),
                    };
                    text.push(plain);
                    self.at += 2;
                }
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Token::String(text)
    }

    /// The character of `\uXXXX`, or of a pair of them, and the length.
    fn unicode_escape(&self) -> Option<(char, usize)> {
        let high = self.hex4(2)?;
        if high & 0xf800 != 0xd800 {
            return Some((char::from_u32(high)?, 6));
        }
        // A surrogate has to be the first of a pair.
        if high & 0x400 != 0 || self.peek(6) != b'\\' || self.peek(7) != b'u' {
            return None;
        }
        let low = self.hex4(8)?;
        if low & 0xfc00 != 0xdc00 {
            return None;
        }
        let code = ((high & 0x3ff) << 10 | (low & 0x3ff)) + 0x10000;
        Some((char::from_u32(code)?, 12))
    }

    fn hex4(&self, ahead: usize) -> Option<u32> {
        (0..4).try_fold(0, |code, place| {
            let digit = char::from(self.peek(ahead + place)).to_digit(16)?;
            Some(code << 4 | digit)
        })
    }
}
