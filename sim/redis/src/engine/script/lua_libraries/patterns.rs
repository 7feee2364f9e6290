//! The functions of Lua's library `string` that have patterns (`lstrlib.c`).

use lua_types::LuaError;

use super::matching::Matcher;
use crate::engine::script::arguments::{self, Arguments, Text};
use crate::engine::script::buffer::Buffer;
use crate::engine::script::lua::{self, Lua, Returned, Value, before_zero};
use crate::engine::script::meter;

/// `string.find(text, pattern [, start [, plain]])`.
pub(super) fn find(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let (text, pattern) = (arguments.string(lua, 1)?, arguments.string(lua, 2)?);
    let start = start(lua, &arguments, text.len())?;
    let is_plain = !matches!(arguments.value(4), Value::Nil | Value::Bool(false));
    let is_special = |byte: &u8| b"^$*+?.([%-".contains(byte);
    if is_plain || !before_zero(&pattern).iter().any(is_special) {
        let found = find_plain(lua, &text, &pattern, start)?;
        return match found {
            None => lua::result(lua, Value::Nil),
            Some(at) => {
                let range = [at as f64 + 1.0, (at + pattern.len()) as f64];
                lua::results(lua, &range.map(lua::number))
            }
        };
    }
    let mut matcher = Matcher::new(&text, &pattern);
    match search(lua, &mut matcher, &text, &pattern, start)? {
        None => lua::result(lua, Value::Nil),
        Some((at, end)) => {
            let mut values = vec![lua::number(at as f64 + 1.0), lua::number(end as f64)];
            values.extend(matcher.captured(lua, None)?);
            lua::results(lua, &values)
        }
    }
}

/// `string.match(text, pattern [, start])`.
pub(super) fn match_once(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let (text, pattern) = (arguments.string(lua, 1)?, arguments.string(lua, 2)?);
    let start = start(lua, &arguments, text.len())?;
    let mut matcher = Matcher::new(&text, &pattern);
    match search(lua, &mut matcher, &text, &pattern, start)? {
        None => lua::result(lua, Value::Nil),
        whole => {
            let values = matcher.captured(lua, whole)?;
            lua::results(lua, &values)
        }
    }
}

/// The third argument, as a position in the text.
fn start(lua: &mut Lua, arguments: &Arguments, len: usize) -> lua::Result<usize> {
    let start = arguments.optional_integer(lua, 3, 1)?;
    let start = match start < 0 {
        true => start.saturating_add(len as i64),
        false => start - 1,
    };
    Ok(start.clamp(0, len as i64) as usize)
}

/// The first match from this position on: where it starts and ends.
fn search(
    lua: &mut Lua,
    matcher: &mut Matcher<'_>,
    text: &[u8],
    pattern: &[u8],
    start: usize,
) -> lua::Result<Option<(usize, usize)>> {
    let is_anchored = pattern.first() == Some(&b'^');
    let last = if is_anchored { start } else { text.len() };
    for at in start..=last {
        if let Some(end) = matcher.find(lua, at, is_anchored.into())? {
            return Ok(Some((at, end)));
        }
    }
    Ok(None)
}

fn find_plain(
    lua: &mut Lua,
    text: &[u8],
    wanted: &[u8],
    start: usize,
) -> lua::Result<Option<usize>> {
    let Some(last) = text.len().checked_sub(wanted.len()) else {
        return Ok(None);
    };
    for at in start..=last {
        let pairs = text[at..].iter().zip(wanted);
        let alike = pairs.take_while(|(one, other)| one == other).count();
        if alike == wanted.len() {
            return Ok(Some(at));
        }
        meter::count_bytes(lua, alike)?;
    }
    meter::count_bytes(lua, last.saturating_sub(start))?;
    Ok(None)
}

/// What `string.gmatch` returns: a function that returns the next match each time.
fn next_match(lua: &mut Lua) -> Returned {
    let Some(closure) = lua::called(lua) else {
        return Ok(0);
    };
    let upvalues = closure.upvalues.borrow().clone();
    let [Value::Str(text), Value::Str(pattern), Value::Float(from)] = upvalues[..] else {
        return Ok(0);
    };
    let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes());
    for at in from as usize..=text.len() {
        if let Some(end) = matcher.find(lua, at, 0)? {
            let next = if end == at { end + 1 } else { end };
            closure.upvalues.borrow_mut()[2] = lua::number(next as f64);
            let values = matcher.captured(lua, Some((at, end)))?;
            return lua::results(lua, &values);
        }
    }
    Ok(0)
}

/// Creates `string.gmatch` with its function [`next_match`].
pub(super) fn gmatch(lua: &mut Lua) -> Value {
    let next = lua::registered(lua, next_match);
    lua::function(lua, move |lua| {
        let arguments = Arguments::of(lua);
        let mut upvalues = Vec::new();
        for index in [1, 2] {
            upvalues.push(match arguments.string(lua, index)? {
                Text::Borrowed(text) => Value::Str(text),
                Text::Owned(text) => lua::string(lua, &text)?,
            });
        }
        upvalues.push(lua::number(0));
        let function = lua::closure(lua, next, upvalues);
        lua::result(lua, function)
    })
}

/// `string.gsub(text, pattern, replacement [, times])`.
pub(super) fn gsub(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let (text, pattern) = (arguments.string(lua, 1)?, arguments.string(lua, 2)?);
    let most = arguments.optional_int(lua, 4, text.len() as i64 + 1)?;
    let replacement = match arguments.value(3) {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => {
            Replacement::Text(arguments.string(lua, 3)?)
        }
        Value::Table(table) => Replacement::Table(table),
        function @ Value::Function(_) => Replacement::Function(function),
        _ => return Err(arguments::bad(lua, 3, "string/function/table expected")),
    };
    let is_anchored = pattern.first() == Some(&b'^');
    let mut matcher = Matcher::new(&text, &pattern);
    let mut replaced = Buffer::default();
    let (mut at, mut count) = (0, 0);
    while count < most {
        let found = matcher.find(lua, at, is_anchored.into())?;
        if let Some(end) = found {
            count += 1;
            replacement.add(lua, &matcher, &text, (at, end), &mut replaced)?;
        }
        match found {
            Some(end) if end > at => at = end,
            _ if at < text.len() => {
                replaced.push(lua, text[at])?;
                at += 1;
            }
            _ => break,
        }
        if is_anchored {
            break;
        }
    }
    replaced.extend(lua, &text[at..])?;
    let replaced = replaced.into_string(lua)?;
    lua::results(lua, &[replaced, lua::number(count as f64)])
}

enum Replacement {
    Text(Text),
    Table(lua::Table),
    Function(Value),
}

impl Replacement {
    /// Adds what replaces the match that starts and ends here.
    fn add(
        &self,
        lua: &mut Lua,
        matcher: &Matcher<'_>,
        text: &[u8],
        whole: (usize, usize),
        to: &mut Buffer,
    ) -> lua::Result<()> {
        let value = match self {
            Replacement::Text(template) => return fill(lua, template, matcher, text, whole, to),
            Replacement::Table(table) => {
                let key = matcher.capture(lua, 0, whole)?;
                lua.table_get_with_tm(&Value::Table(*table), &key)?
            }
            Replacement::Function(function) => {
                let mut call = vec![*function];
                call.extend(matcher.captured(lua, Some(whole))?);
                lua::call(lua, &call, 1)?;
                lua.pop()
            }
        };
        match value {
            Value::Nil | Value::Bool(false) => to.extend(lua, &text[whole.0..whole.1]),
            Value::Str(value) => to.extend(lua, value.as_bytes()),
            number @ (Value::Int(_) | Value::Float(_)) => to.extend(lua, &lua::text(number)),
            other => Err(invalid(lua, other)),
        }
    }
}

fn invalid(lua: &mut Lua, value: Value) -> LuaError {
    let kind = value.type_name();
    arguments::error(lua, format!("invalid replacement value (a {kind})"))
}

/// Adds a template, in which `%1` stands for a capture, and `%0` for the match.
fn fill(
    lua: &mut Lua,
    template: &[u8],
    matcher: &Matcher<'_>,
    text: &[u8],
    whole: (usize, usize),
    to: &mut Buffer,
) -> lua::Result<()> {
    let mut bytes = template.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            to.push(lua, byte)?;
            continue;
        }
        // C sees a zero after the end.
        match bytes.next().unwrap_or(0) {
            b'0' => to.extend(lua, &text[whole.0..whole.1])?,
            digit @ b'1'..=b'9' => {
                let value = matcher.capture(lua, usize::from(digit - b'1'), whole)?;
                to.extend(lua, &lua::text(value))?;
            }
            other => to.push(lua, other)?,
        }
    }
    Ok(())
}
