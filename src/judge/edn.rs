//! A reader of EDN, as far as histories need it: every value of the format, and the line on which it
//! begins. Strict: what it does not know is an error, not a guess. An array of JSON's objects is read as the same
//! values, their names as keywords.

use std::borrow::Cow;

use locklab_bounds::{Bounds, Refused};

use crate::raw::Bad;

/// The bounds of a top-level value, and of what is discarded before it.
const BOUNDS: Bounds = Bounds::EVENT;

/// A value of EDN.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction, as it is written.
    Fraction(Cow<'t, str>),
    /// `"text"`.
    Text(Cow<'t, str>),
    /// `:keyword`, without the colon.
    Keyword(Cow<'t, str>),
    /// Any other word: a symbol, or a character (`\a`).
    Symbol(Cow<'t, str>),
    /// A vector, a list or a set.
    Sequence(Vec<Value<'t>>),
    /// A map, in the order of the file.
    Map(Vec<(Value<'t>, Value<'t>)>),
}

impl<'t> Value<'t> {
    /// Whether it has values.
    pub fn is_collection(&self) -> bool {
        matches!(self, Value::Sequence(_) | Value::Map(_))
    }

    /// The value of a keyword in a map.
    pub fn get(&self, keyword: &str) -> Option<&Value<'t>> {
        Some(self.entry(keyword)?.1)
    }

    /// The same, with its place in the map.
    pub fn entry(&self, keyword: &str) -> Option<(usize, &Value<'t>)> {
        let Value::Map(entries) = self else {
            return None;
        };
        let mut entries = entries.iter().enumerate();
        entries.find_map(|(place, (key, value))| match key {
            Value::Keyword(name) if name == keyword => Some((place, value)),
            _ => None,
        })
    }
}

/// Gives `take` the top-level values of a text one by one, each with the line on which it begins. If the text is one
/// vector or one list, its elements. All values of a history at once would be ten times as large as its text.
///
/// # Errors
///
/// If it is not EDN, or exceeds the bounds of an event, or `take` refuses a value.
pub fn read<'t>(
    text: &'t str,
    mut take: impl FnMut(u32, Value<'t>) -> Result<(), Bad>,
) -> Result<(), Bad> {
    let mut reader = Reader {
        rest: text,
        line: 1,
        is_json: is_json(text),
        elements: 0,
    };
    reader.skip(0)?;
    let is_one = reader.rest.starts_with(['[', '(']);
    let closing = match reader.rest.chars().next() {
        Some('[') => Some(']'),
        Some('(') => Some(')'),
        _ => None,
    };
    if is_one {
        reader.advance(1);
    }
    loop {
        reader.elements = 0;
        reader.skip(0)?;
        match reader.rest.chars().next() {
            None if closing.is_none() => return Ok(()),
            Some(found) if Some(found) == closing => {
                reader.advance(1);
                reader.skip(0)?;
                return match reader.rest.is_empty() {
                    true => Ok(()),
                    false => Err(reader.error("there is text after the end of the history")),
                };
            }
            _ => {
                let (line, start) = (reader.line, reader.rest.len());
                let value = reader.value(0)?;
                if start - reader.rest.len() > BOUNDS.bytes {
                    return Err(reader.refused(Refused::Large(BOUNDS.bytes)));
                }
                take(line, value)?;
            }
        }
    }
}

/// Whether a text begins like an array of JSON's objects. In EDN no operation begins with a text.
fn is_json(text: &str) -> bool {
    let mut begins = ['[', '{', '"'].into_iter();
    let inside = begins.try_fold(text, |rest, next| rest.trim_start().strip_prefix(next));
    inside.is_some()
}

struct Reader<'t> {
    rest: &'t str,
    line: u32,
    is_json: bool,
    /// Of the top-level value that is read, with what is discarded before and in it.
    elements: usize,
}

impl<'t> Reader<'t> {
    /// Passes over this many bytes, none of which ends a line.
    fn advance(&mut self, bytes: usize) -> &'t str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        passed
    }

    /// Passes over blanks, commas, comments, and values behind `#_`.
    fn skip(&mut self, depth: usize) -> Result<(), Bad> {
        self.bounded(depth)?;
        loop {
            let blank = |c: char| c.is_whitespace() || c == ',' || c == '\u{feff}';
            let next = self.rest.find(|c| !blank(c)).unwrap_or(self.rest.len());
            let passed = self.advance(next);
            self.line += passed.matches('\n').count() as u32;
            if self.rest.starts_with(';') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.advance(end);
            } else if self.rest.starts_with("#_") {
                self.advance(2);
                self.skip(depth + 1)?;
                self.value(depth + 1)?;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'t>, Bad> {
        self.bounded(depth)?;
        self.elements += 1;
        if self.elements > BOUNDS.elements {
            return Err(self.refused(Refused::Many(BOUNDS.elements)));
        }
        let Some(first) = self.rest.chars().next() else {
            return Err(self.error("the text ends within a value; is the file truncated?"));
        };
        match first {
            '"' => self.text(),
            '[' => self.sequence(']', depth),
            '(' => self.sequence(')', depth),
            '{' => self.map(depth),
            '#' => self.tagged(depth),
            ']' | ')' | '}' => Err(self.error(&format!("unexpected `{first}`"))),
            '\\' => {
                let character = self.rest.chars().nth(1).map_or(0, char::len_utf8);
                let more = word_end(&self.rest[1 + character..]);
                let word = self.advance(1 + character + more);
                Ok(Value::Symbol(word.into()))
            }
            _ => self.word(),
        }
    }

    fn sequence(&mut self, closing: char, depth: usize) -> Result<Value<'t>, Bad> {
        let line = self.line;
        self.advance(1);
        let mut values = Vec::new();
        loop {
            self.skip(depth + 1)?;
            if self.rest.starts_with(closing) {
                self.advance(1);
                return Ok(Value::Sequence(values));
            }
            if self.rest.is_empty() {
                let what =
                    format!("this has no end: `{closing}` is missing; is the file truncated?");
                return Err(Bad::at(line, what));
            }
            let value = self.value(depth + 1)?;
            if self.is_json && closing == '}' && values.len() % 2 == 0 {
                self.skip(depth + 1)?;
                if !self.rest.starts_with(':') {
                    return Err(self.error("a name without `:` and a value"));
                }
                self.advance(1);
            }
            values.push(value);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value<'t>, Bad> {
        let line = self.line;
        let Value::Sequence(values) = self.sequence('}', depth)? else {
            return Err(self.error("a map is expected"));
        };
        if values.len() % 2 == 1 {
            return Err(Bad::at(line, "a map has a key without a value"));
        }
        let mut values = values.into_iter();
        let mut entries = Vec::with_capacity(values.len() / 2);
        while let (Some(key), Some(value)) = (values.next(), values.next()) {
            entries.push(match key {
                Value::Text(name) if self.is_json => (Value::Keyword(name), value),
                key => (key, value),
            });
        }
        Ok(Value::Map(entries))
    }

    /// `#{…}`, `#inst "…"`, `#jepsen.history.Op{…}`: the value without its tag.
    fn tagged(&mut self, depth: usize) -> Result<Value<'t>, Bad> {
        self.advance(1);
        if self.rest.starts_with('{') {
            return self.sequence('}', depth);
        }
        let tag = word_end(self.rest);
        if tag == 0 {
            return Err(self.error("`#` without a tag"));
        }
        self.advance(tag);
        self.skip(depth + 1)?;
        self.value(depth + 1)
    }

    fn text(&mut self) -> Result<Value<'t>, Bad> {
        let line = self.line;
        self.advance(1);
        let mut text = Cow::Borrowed("");
        while let Some(plain) = self.rest.find(['"', '\\']) {
            let plain = self.advance(plain);
            self.line += plain.matches('\n').count() as u32;
            text += plain;
            let mut chars = self.rest.chars();
            if chars.next() == Some('"') {
                self.rest = chars.as_str();
                return Ok(Value::Text(text));
            }
            text.to_mut().push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(c @ ('"' | '\\')) => c,
                Some('/') if self.is_json => '/',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    let what = "`\\u` in a text needs four hexadecimal digits";
                    code.and_then(char::from_u32).ok_or(Bad::at(line, what))?
                }
                _ => {
                    let what = "unknown escape in a text; there are \\n \\t \\r \\\" \\\\ \\u";
                    return Err(Bad::at(line, what));
                }
            });
            self.rest = chars.as_str();
        }
        let what = "this text has no end: `\"` is missing; is the file truncated?";
        Err(Bad::at(line, what))
    }

    fn word(&mut self) -> Result<Value<'t>, Bad> {
        let end = word_end(self.rest);
        if end == 0 {
            return Err(self.error("unexpected character"));
        }
        let word = self.advance(end);
        if let Some(name) = word.strip_prefix(':') {
            return Ok(Value::Keyword(name.into()));
        }
        let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(match word {
                "nil" => Value::Nil,
                "null" if self.is_json => Value::Nil,
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Symbol(word.into()),
            });
        }
        if let Ok(number) = word.strip_suffix('N').unwrap_or(word).parse() {
            return Ok(Value::Integer(number));
        }
        let fraction = word.strip_suffix('M').unwrap_or(word);
        match fraction.parse::<f64>() {
            Ok(_) => Ok(Value::Fraction(fraction.into())),
            Err(_) => Err(self.error(&format!("invalid number `{word}`"))),
        }
    }

    fn bounded(&self, depth: usize) -> Result<(), Bad> {
        match depth > BOUNDS.depth {
            true => Err(self.refused(Refused::Deep(BOUNDS.depth))),
            false => Ok(()),
        }
    }

    fn refused(&self, refused: Refused) -> Bad {
        self.error(&refused.to_string())
    }

    fn error(&self, what: &str) -> Bad {
        Bad::at(self.line, what)
    }
}

/// Where a word ends.
fn word_end(text: &str) -> usize {
    let ends = |c: char| {
        matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ',' | ';') || c.is_whitespace()
    };
    text.find(ends).unwrap_or(text.len())
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if (c as u32) < 0x20 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<Vec<(u32, Value<'_>)>, Bad> {
        let mut values = Vec::new();
        read(text, |line, value| {
            values.push((line, value));
            Ok(())
        })?;
        Ok(values)
    }

    fn one(text: &str) -> Value<'_> {
        let mut values = all(text).unwrap();
        assert_eq!(values.len(), 1, "{text}");
        values.remove(0).1
    }

    /// Together they would take ten times the room of the text.
    #[test]
    fn a_value_is_taken_before_the_next_is_read() {
        let refused = read("{:a 1}\n{:a 2}\n}", |line, _| match line {
            1 => Ok(()),
            _ => Err(Bad::at(line, "refused")),
        });
        assert_eq!(refused, Err(Bad::at(2, "refused")));
    }

    #[test]
    fn an_event_is_bounded() {
        for (name, bytes) in hostile::edn() {
            let text = String::from_utf8(bytes).expect("it is text");
            let what = all(&text).expect_err(name).what;
            assert_eq!(what, "values are nested more than 64 deep", "{name}");
        }
        let elements = |most: usize| format!("{{:a [{}]}}", "1 ".repeat(most));
        let events = elements(BOUNDS.elements - 3).repeat(2);
        assert_eq!(all(&events).map(|values| values.len()), Ok(2));
        let what = |text: &str| all(text).expect_err("it is too much").what;
        assert_eq!(
            what(&elements(BOUNDS.elements)),
            "more than 1048576 elements"
        );
        let discarded = "#_1 ".repeat(BOUNDS.elements + 1);
        assert_eq!(what(&discarded), "more than 1048576 elements");
        let text = format!("\"{}\"", "a".repeat(BOUNDS.bytes));
        assert_eq!(what(&text), "longer than 16777216 bytes");
    }

    proptest! {
        #[test]
        fn any_text_survives_its_quotes(text in ".*") {
            let written = format!("{{:x {}}}", quoted(&text));
            let map = one(&written);
            prop_assert_eq!(map.get("x"), Some(&Value::Text(text.into())));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\](){}\"\\\\:;#_ a1.\n-]{0,40}") {
            let _ = all(&text);
        }
    }
}
