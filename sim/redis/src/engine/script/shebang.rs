//! A script's first line: `#!lua flags=no-writes,allow-stale` for a script, `#!lua name=mylib`
//! for a function library.

use super::flags::{Flags, ScriptFlag};
use crate::wire::reply::Error;
use crate::wire::request::split_args;

/// The contents of a script's first line.
pub(super) struct Shebang {
    /// `None` without such a line: then there are no restrictions
    /// (`SCRIPT_FLAG_EVAL_COMPAT_MODE`).
    pub(super) flags: Option<Flags>,
    /// Its length without the line break, so that line numbers stay correct.
    pub(super) len: usize,
}

/// Parses the first line of a script (`evalExtractShebangFlags`). Without `#!` there are no
/// declarations.
///
/// # Errors
///
/// The line declares something that Redis does not support.
pub(super) fn parse(body: &[u8]) -> Result<Shebang, Error> {
    if !body.starts_with(b"#!") {
        return Ok(Shebang {
            flags: None,
            len: 0,
        });
    }
    let (line, len) = first_line(body).ok_or(Error::of("ERR Invalid script shebang"))?;
    let words = split_args(line).ok_or(Error::of("ERR Invalid engine in script shebang"))?;
    let (engine, options) = words
        .split_first()
        .ok_or(Error::of("ERR Invalid engine in script shebang"))?;
    if engine != b"#!lua" {
        return Err(with("ERR Unexpected engine in script shebang: ", engine));
    }
    let mut flags = Flags::new();
    for option in options {
        let Some(names) = option.strip_prefix(b"flags=") else {
            return Err(with("ERR Unknown lua shebang option: ", option));
        };
        if names.is_empty() {
            continue;
        }
        for name in names.split(|byte| *byte == b',') {
            let flag = ScriptFlag::named(name)
                .ok_or_else(|| with("ERR Unexpected flag in script shebang: ", name))?;
            flags.insert(flag);
        }
    }
    Ok(Shebang {
        flags: Some(flags),
        len,
    })
}

/// Parses the first line of a library (`functionExtractLibMetaData`): its name, and the length of
/// the line without the line break.
///
/// # Errors
///
/// The line is invalid, or names another engine than Lua.
pub(super) fn parse_library(code: &[u8]) -> Result<(Vec<u8>, usize), Error> {
    const INVALID: Error = Error::of("ERR Invalid library metadata");
    if !code.starts_with(b"#!") {
        return Err(Error::of("ERR Missing library metadata"));
    }
    let (line, len) = first_line(code).ok_or(INVALID)?;
    let words = split_args(line).ok_or(INVALID)?;
    let (engine, options) = words.split_first().ok_or(INVALID)?;
    let mut name = None;
    for option in options {
        match option.split_at_checked(5) {
            Some((key, _)) if key.eq_ignore_ascii_case(b"name=") && name.is_some() => {
                return Err(Error::of(
                    "ERR Invalid metadata value, name argument was given multiple times",
                ));
            }
            Some((key, value)) if key.eq_ignore_ascii_case(b"name=") => name = Some(value),
            _ => return Err(with("ERR Invalid metadata value given: ", option)),
        }
    }
    let name = name.ok_or(Error::of("ERR Library name was not given"))?;
    if !is_valid_name(name) {
        return Err(INVALID_NAME);
    }
    let engine = &engine[2..];
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(Error::new(
            [b"ERR Engine '", engine, b"' not found"].concat(),
        ));
    }
    Ok((name.to_vec(), len))
}

/// Used for the names of libraries and of functions alike.
pub(super) const INVALID_NAME: Error = Error::of(
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least \
     one character long",
);

/// `functionsVerifyName`.
pub(super) fn is_valid_name(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && name.iter().all(allowed)
}

fn first_line(code: &[u8]) -> Option<(&[u8], usize)> {
    let len = code.iter().position(|byte| *byte == b'\n')?;
    Some((&code[..len], len))
}

fn with(text: &str, shown: &[u8]) -> Error {
    Error::new([text.as_bytes(), shown].concat())
}
