//! A script's first line: `#!lua flags=no-writes,allow-stale`.

use super::Access;
use crate::redis::reply::Error;

/// What the line says.
pub(super) struct Shebang {
    pub(super) access: Access,
    /// Its length, without the line's end: line numbers stay right.
    pub(super) len: usize,
}

/// Reads the first line of a script. Without `#!` it says nothing.
///
/// # Errors
///
/// It asks for what Redis does not have.
pub(super) fn parse(body: &[u8]) -> Result<Shebang, Error> {
    let mut shebang = Shebang {
        access: Access::ReadWrite,
        len: 0,
    };
    if !body.starts_with(b"#!") {
        return Ok(shebang);
    }
    shebang.len = body
        .iter()
        .position(|b| *b == b'\n')
        .ok_or(Error::of("ERR Invalid script shebang"))?;
    let line = String::from_utf8_lossy(&body[..shebang.len]);
    let mut words = line.split_ascii_whitespace();
    let engine = words.next().unwrap_or_default();
    if engine != "#!lua" {
        return Err(Error::new(format!(
            "ERR Unexpected engine in script shebang: {engine}"
        )));
    }
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            return Err(Error::new(format!(
                "ERR Unknown lua shebang option: {word}"
            )));
        };
        for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
            match flag {
                "no-writes" => shebang.access = Access::ReadOnly,
                "allow-oom" | "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                _ => {
                    return Err(Error::new(format!(
                        "ERR Unexpected flag in script shebang: {flag}"
                    )));
                }
            }
        }
    }
    Ok(shebang)
}
