//! A reader of EDN, as far as histories need it: every value of the format, and the line on which it
//! begins. Strict: what it does not know is an error, not a guess. An array of JSON's objects is read as the same
//! values, their names as keywords.

use locklab_bounds::{Bounds, Refused};

/// The bounds of a top-level value, and of what is discarded before it.
const BOUNDS: Bounds = Bounds::EVENT;

/// A value of EDN.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction, as it is written.
    Fraction(String),
    /// `"text"`.
    Text(String),
    /// `:keyword`, without the colon.
    Keyword(String),
    /// Any other word: a symbol, or a character (`\a`).
    Symbol(String),
    /// A vector, a list or a set.
    Sequence(Vec<Value>),
    /// A map, in the order of the file.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The value of a keyword in a map.
    pub fn get(&self, keyword: &str) -> Option<&Value> {
        Some(self.entry(keyword)?.1)
    }

    /// The same, with its place in the map.
    pub fn entry(&self, keyword: &str) -> Option<(usize, &Value)> {
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

/// Why text is not EDN: the line, counted from 1, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdnError {
    /// The line.
    pub line: u32,
    /// The reason.
    pub what: String,
}

/// The top-level values of a text, each with the line on which it begins. If the text is one vector or
/// one list, its elements.
///
/// # Errors
///
/// If it is not EDN, or exceeds the bounds of an event.
pub fn read(text: &str) -> Result<Vec<(u32, Value)>, EdnError> {
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
    let mut values = Vec::new();
    if is_one {
        reader.advance(1);
    }
    loop {
        reader.elements = 0;
        reader.skip(0)?;
        match reader.rest.chars().next() {
            None if closing.is_none() => return Ok(values),
            Some(found) if Some(found) == closing => {
                reader.advance(1);
                reader.skip(0)?;
                return match reader.rest.is_empty() {
                    true => Ok(values),
                    false => Err(reader.error("there is text after the end of the history")),
                };
            }
            _ => {
                let (line, start) = (reader.line, reader.rest.len());
                let value = reader.value(0)?;
                if start - reader.rest.len() > BOUNDS.bytes {
                    return Err(reader.refused(Refused::Large(BOUNDS.bytes)));
                }
                values.push((line, value));
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
    fn skip(&mut self, depth: usize) -> Result<(), EdnError> {
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

    fn value(&mut self, depth: usize) -> Result<Value, EdnError> {
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

    fn sequence(&mut self, closing: char, depth: usize) -> Result<Value, EdnError> {
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
                return Err(EdnError { line, what });
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

    fn map(&mut self, depth: usize) -> Result<Value, EdnError> {
        let line = self.line;
        let Value::Sequence(values) = self.sequence('}', depth)? else {
            return Err(self.error("a map is expected"));
        };
        if values.len() % 2 == 1 {
            let what = "a map has a key without a value".into();
            return Err(EdnError { line, what });
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
    fn tagged(&mut self, depth: usize) -> Result<Value, EdnError> {
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

    fn text(&mut self) -> Result<Value, EdnError> {
        let line = self.line;
        self.advance(1);
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    let passed = self.advance(place + 1);
                    self.line += passed.matches('\n').count() as u32;
                    return Ok(Value::Text(text));
                }
                '\\' => text.push(match chars.next().map(|(_, c)| c) {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some(c @ ('"' | '\\')) => c,
                    Some('/') if self.is_json => '/',
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        let what = "`\\u` in a text needs four hexadecimal digits".to_owned();
                        code.and_then(char::from_u32)
                            .ok_or(EdnError { line, what })?
                    }
                    _ => {
                        let what =
                            "unknown escape in a text; there are \\n \\t \\r \\\" \\\\ \\u".into();
                        return Err(EdnError { line, what });
                    }
                }),
                c => text.push(c),
            }
        }
        let what = "this text has no end: `\"` is missing; is the file truncated?".into();
        Err(EdnError { line, what })
    }

    fn word(&mut self) -> Result<Value, EdnError> {
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

    fn bounded(&self, depth: usize) -> Result<(), EdnError> {
        match depth > BOUNDS.depth {
            true => Err(self.refused(Refused::Deep(BOUNDS.depth))),
            false => Ok(()),
        }
    }

    fn refused(&self, refused: Refused) -> EdnError {
        self.error(&refused.to_string())
    }

    fn error(&self, what: &str) -> EdnError {
        EdnError {
            line: self.line,
            what: what.into(),
        }
    }
}

/// Where a word ends.
fn word_end(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || "()[]{}\",;".contains(c);
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

    fn one(text: &str) -> Value {
        let mut values = read(text).unwrap();
        assert_eq!(values.len(), 1, "{text}");
        values.remove(0).1
    }

    #[test]
    fn every_form_of_the_format_is_read() {
        let keyword = |name: &str| Value::Keyword(name.into());
        let check = |text: &str, expected: Value| {
            assert_eq!(
                one(&format!("{{:x {text}}}")).get("x"),
                Some(&expected),
                "{text}"
            );
        };
        check("nil", Value::Nil);
        check("true", Value::Bool(true));
        check("-12", Value::Integer(-12));
        check("12N", Value::Integer(12));
        check("1.5e3", Value::Fraction("1.5e3".into()));
        check("2.5M", Value::Fraction("2.5".into()));
        check(r#""a\n\"\u0041\\""#, Value::Text("a\n\"A\\".into()));
        check(":f/g", keyword("f/g"));
        check("sym", Value::Symbol("sym".into()));
        check("\\a", Value::Symbol("\\a".into()));
        check("\\(", Value::Symbol("\\(".into()));
        check(
            "[1 :a]",
            Value::Sequence(vec![Value::Integer(1), keyword("a")]),
        );
        check("(1)", Value::Sequence(vec![Value::Integer(1)]));
        check("#{1}", Value::Sequence(vec![Value::Integer(1)]));
        check("#inst \"2020\"", Value::Text("2020".into()));
        check("#_ignored 7", Value::Integer(7));
        check("; comment\n 7", Value::Integer(7));
    }

    #[test]
    fn lines_are_counted_in_both_arrangements() {
        let lines = |text: &str| -> Vec<u32> {
            read(text).unwrap().iter().map(|(line, _)| *line).collect()
        };
        assert_eq!(
            lines("{:a 1}\n{:a\n 2}\n\n{:a \"x\ny\"} {:a 4}"),
            [1, 2, 5, 6]
        );
        assert_eq!(lines("[{:a 1}\n {:a 2}]"), [1, 2]);
        assert_eq!(lines("#jepsen.history.Op{:a 1}\n(1)"), [1, 2]);
    }

    #[test]
    fn what_is_no_edn_is_told_with_its_line() {
        let check = |text: &str, line: u32, what: &str| {
            let what = what.to_owned();
            assert_eq!(read(text), Err(EdnError { line, what }), "{text}");
        };
        check(
            "{:a 1}\n{:a",
            2,
            "this has no end: `}` is missing; is the file truncated?",
        );
        check(
            "[1\n",
            2,
            "the text ends within a value; is the file truncated?",
        );
        check("{:a}", 1, "a map has a key without a value");
        check("1 }", 1, "unexpected `}`");
        check("[1] 2", 1, "there is text after the end of the history");
        check("12x", 1, "invalid number `12x`");
        check(
            "\"a",
            1,
            "this text has no end: `\"` is missing; is the file truncated?",
        );
        check("# 1", 1, "`#` without a tag");
        let deep = "{:a ".repeat(100);
        check(&deep, 1, "values are nested more than 64 deep");
    }

    #[test]
    fn an_event_is_bounded() {
        for (name, bytes) in hostile::edn() {
            let text = String::from_utf8(bytes).expect("it is text");
            let what = read(&text).expect_err(name).what;
            assert_eq!(what, "values are nested more than 64 deep", "{name}");
        }
        let elements = |most: usize| format!("{{:a [{}]}}", "1 ".repeat(most));
        let events = elements(BOUNDS.elements - 3).repeat(2);
        assert_eq!(read(&events).map(|values| values.len()), Ok(2));
        let what = |text: &str| read(text).expect_err("it is too much").what;
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
            let map = one(&format!("{{:x {}}}", quoted(&text)));
            prop_assert_eq!(map.get("x"), Some(&Value::Text(text)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\](){}\"\\\\:;#_ a1.\n-]{0,40}") {
            let _ = read(&text);
        }
    }
}
