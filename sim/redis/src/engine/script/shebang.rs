//! A script's first line: `#!lua flags=no-writes,allow-stale`.

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

fn first_line(code: &[u8]) -> Option<(&[u8], usize)> {
    let len = code.iter().position(|byte| *byte == b'\n')?;
    Some((&code[..len], len))
}

fn with(text: &str, shown: &[u8]) -> Error {
    Error::new([text.as_bytes(), shown].concat())
}
