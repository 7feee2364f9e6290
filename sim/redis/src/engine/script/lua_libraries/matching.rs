//! Lua's patterns: finds where a text matches (`do_match` of `lstrlib.c`).
//!
//! The interpreter has this too, but calls itself for each item of a pattern, however many there
//! are, and counts its work when it has done it. This one ends in time.

use lua_types::LuaError;

use crate::engine::script::arguments;
use crate::engine::script::lua::{self, Lua, Value, before_zero};
use crate::engine::script::meter;

/// `LUA_MAXCAPTURES`.
const MAX_CAPTURES: usize = 32;

/// The most items of a pattern, of those that can match in several ways, that may be open at a
/// time. Redis ends when the stack of C does, at some ten thousands.
const MAX_DEPTH: usize = 2000;

/// The steps that are counted at a time, as instructions.
const STEPS_PER_COUNT: u64 = 256;

/// Where a capture ends.
#[derive(Copy, Clone, PartialEq, Eq)]
enum End {
    Open,
    /// It is the position itself.
    Position,
    At(usize),
}

/// A text and a pattern for it.
pub(super) struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<(usize, End)>,
    depth: usize,
    uncounted: u64,
}

/// The end of a match, if there is one.
type Found = lua::Result<Option<usize>>;

impl<'a> Matcher<'a> {
    /// A pattern ends at its first zero, as a string of C.
    pub(super) fn new(text: &'a [u8], pattern: &'a [u8]) -> Self {
        Matcher {
            text,
            pattern: before_zero(pattern),
            captures: Vec::new(),
            depth: 0,
            uncounted: 0,
        }
    }

    /// Matches the text from this position on, with the pattern from that one.
    pub(super) fn find(&mut self, lua: &mut Lua, at: usize, from: usize) -> Found {
        self.captures.clear();
        self.depth = 0;
        self.rest(lua, at, from)
    }

    /// The values of the captures; of the whole match if there are none, and it is wanted.
    pub(super) fn captured(
        &self,
        lua: &mut Lua,
        whole: Option<(usize, usize)>,
    ) -> lua::Result<Vec<Value>> {
        let count = match whole {
            Some(_) => self.captures.len().max(1),
            None => self.captures.len(),
        };
        let whole = whole.unwrap_or_default();
        (0..count)
            .map(|index| self.capture(lua, index, whole))
            .collect()
    }

    /// The value of one capture; the first is the whole match if there are none.
    pub(super) fn capture(
        &self,
        lua: &mut Lua,
        index: usize,
        whole: (usize, usize),
    ) -> lua::Result<Value> {
        match self.captures.get(index) {
            None if index == 0 => lua::string(lua, &self.text[whole.0..whole.1]),
            None => Err(arguments::error(lua, "invalid capture index")),
            Some((_, End::Open)) => Err(arguments::error(lua, "unfinished capture")),
            Some((start, End::Position)) => Ok(lua::number(*start as f64 + 1.0)),
            Some((start, End::At(end))) => lua::string(lua, &self.text[*start..*end]),
        }
    }

    fn step(&mut self, lua: &mut Lua) -> lua::Result<()> {
        self.uncounted += 1;
        if self.uncounted >= STEPS_PER_COUNT {
            meter::count(lua, std::mem::take(&mut self.uncounted))?;
        }
        Ok(())
    }

    /// A byte of the pattern; 0 after its end.
    fn item(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    fn rest(&mut self, lua: &mut Lua, at: usize, item: usize) -> Found {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(arguments::error(lua, "pattern too complex"));
        }
        let found = self.items(lua, at, item);
        self.depth -= 1;
        found
    }

    fn items(&mut self, lua: &mut Lua, mut at: usize, mut item: usize) -> Found {
        loop {
            self.step(lua)?;
            match (self.item(item), self.item(item + 1)) {
                _ if item == self.pattern.len() => return Ok(Some(at)),
                (b'(', b')') => return self.open(lua, at, item + 2, End::Position),
                (b'(', _) => return self.open(lua, at, item + 1, End::Open),
                (b')', _) => return self.close(lua, at, item + 1),
                (b'%', b'b') => {
                    let Some(end) = self.balanced(lua, at, item + 2)? else {
                        return Ok(None);
                    };
                    (at, item) = (end, item + 4);
                    continue;
                }
                (b'%', b'f') => {
                    item += 2;
                    if self.item(item) != b'[' {
                        return Err(arguments::error(lua, "missing '[' after '%f' in pattern"));
                    }
                    let end = self.class_end(lua, item)?;
                    let before = at.checked_sub(1).map_or(0, |before| self.text[before]);
                    let after = self.text.get(at).copied().unwrap_or(0);
                    if self.in_set(before, item, end - 1) || !self.in_set(after, item, end - 1) {
                        return Ok(None);
                    }
                    item = end;
                    continue;
                }
                (b'%', digit @ b'0'..=b'9') => {
                    let Some(end) = self.again(lua, at, digit)? else {
                        return Ok(None);
                    };
                    (at, item) = (end, item + 2);
                    continue;
                }
                (b'$', _) if item + 1 == self.pattern.len() => {
                    return Ok((at == self.text.len()).then_some(at));
                }
                _ => {}
            }
            let end = self.class_end(lua, item)?;
            let matches = self.single(at, item, end);
            match self.item(end) {
                b'?' => {
                    if matches && let Some(found) = self.rest(lua, at + 1, end + 1)? {
                        return Ok(Some(found));
                    }
                    item = end + 1;
                }
                b'*' => return self.most(lua, at, item, end),
                b'+' if matches => return self.most(lua, at + 1, item, end),
                b'-' => return self.fewest(lua, at, item, end),
                b'+' => return Ok(None),
                _ if !matches => return Ok(None),
                _ => (at, item) = (at + 1, end),
            }
        }
    }

    /// The end of a single-character class.
    fn class_end(&mut self, lua: &mut Lua, item: usize) -> lua::Result<usize> {
        let end = self.pattern.len();
        let mut at = item + 1;
        match self.pattern[item] {
            b'%' if at >= end => Err(arguments::error(lua, "malformed pattern (ends with '%')")),
            b'%' => Ok(at + 1),
            b'[' => {
                if self.item(at) == b'^' {
                    at += 1;
                }
                loop {
                    if at >= end {
                        return Err(arguments::error(lua, "malformed pattern (missing ']')"));
                    }
                    at += 1;
                    if self.pattern[at - 1] == b'%' && at < end {
                        at += 1;
                    }
                    if self.item(at) == b']' {
                        self.uncounted += (at - item) as u64;
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(at),
        }
    }

    fn single(&mut self, at: usize, item: usize, end: usize) -> bool {
        let Some(byte) = self.text.get(at).copied() else {
            return false;
        };
        match self.pattern[item] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[item + 1]),
            b'[' => {
                self.uncounted += (end - item) as u64;
                self.in_set(byte, item, end - 1)
            }
            other => other == byte,
        }
    }

    /// Whether a byte is in the set that begins and ends at these positions of its brackets.
    fn in_set(&self, byte: u8, start: usize, end: usize) -> bool {
        let negated = self.pattern[start + 1] == b'^';
        let mut at = start + 1 + usize::from(negated);
        while at < end {
            let item = self.pattern[at];
            let found = if item == b'%' {
                at += 1;
                in_class(byte, self.pattern[at])
            } else if self.pattern[at + 1] == b'-' && at + 2 < end {
                at += 2;
                (item..=self.pattern[at]).contains(&byte)
            } else {
                item == byte
            };
            if found {
                return !negated;
            }
            at += 1;
        }
        negated
    }

    /// `%b()`
    fn balanced(&mut self, lua: &mut Lua, at: usize, item: usize) -> Found {
        if item + 1 >= self.pattern.len() {
            return Err(arguments::error(lua, "unbalanced pattern"));
        }
        let (opens, closes) = (self.pattern[item], self.pattern[item + 1]);
        if self.text.get(at) != Some(&opens) {
            return Ok(None);
        }
        let mut open = 1;
        for place in at + 1..self.text.len() {
            self.step(lua)?;
            let byte = self.text[place];
            if byte == closes {
                open -= 1;
                if open == 0 {
                    return Ok(Some(place + 1));
                }
            } else if byte == opens {
                open += 1;
            }
        }
        Ok(None)
    }

    fn most(&mut self, lua: &mut Lua, at: usize, item: usize, end: usize) -> Found {
        let mut last = at;
        while self.single(last, item, end) {
            self.step(lua)?;
            last += 1;
        }
        for last in (at..=last).rev() {
            if let Some(found) = self.rest(lua, last, end + 1)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn fewest(&mut self, lua: &mut Lua, mut at: usize, item: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.rest(lua, at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(at, item, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn open(&mut self, lua: &mut Lua, at: usize, item: usize, end: End) -> Found {
        if self.captures.len() >= MAX_CAPTURES {
            return Err(arguments::error(lua, "too many captures"));
        }
        self.captures.push((at, end));
        let found = self.rest(lua, at, item)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, lua: &mut Lua, at: usize, item: usize) -> Found {
        let open = self.captures.iter().rposition(|(_, end)| *end == End::Open);
        let Some(open) = open else {
            return Err(arguments::error(lua, "invalid pattern capture"));
        };
        self.captures[open].1 = End::At(at);
        let found = self.rest(lua, at, item)?;
        if found.is_none() {
            self.captures[open].1 = End::Open;
        }
        Ok(found)
    }

    /// `%1`: what this capture has.
    fn again(&mut self, lua: &mut Lua, at: usize, digit: u8) -> Found {
        let index = usize::from(digit).checked_sub(usize::from(b'1'));
        match index.and_then(|index| self.captures.get(index)) {
            None | Some((_, End::Open)) => Err(invalid_index(lua)),
            Some((_, End::Position)) => Ok(None),
            Some((start, End::At(end))) => {
                let captured = &self.text[*start..*end];
                let matches = self.text[at..].starts_with(captured);
                let len = captured.len();
                meter::count_bytes(lua, len)?;
                Ok(matches.then_some(at + len))
            }
        }
    }
}

fn invalid_index(lua: &mut Lua) -> LuaError {
    arguments::error(lua, "invalid capture index")
}

fn in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        // With the vertical tab.
        b's' => byte.is_ascii_whitespace() || byte == 11,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}
