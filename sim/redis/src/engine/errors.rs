//! The errors for requests that name no command, or have the wrong number of words.

use super::command::Table;
use crate::wire::reply::Error;

/// The error for a wrong number of words; `name` has the form `client|setname`.
pub(super) fn wrong_arity(name: &str) -> Error {
    Error::new(format!(
        "ERR wrong number of arguments for '{name}' command"
    ))
}

/// The error for an unknown command name. Shows as much of the request as Redis does: 128 bytes
/// of the name, and 128 of the other words together.
pub(super) fn unknown(table: Table, args: &[&[u8]]) -> Error {
    if table.is_container(args[0]) {
        let mut text = b"ERR unknown subcommand '".to_vec();
        text.extend_from_slice(&c_string(args[1], 128));
        text.extend_from_slice(b"'. Try ");
        text.extend_from_slice(&args[0].to_ascii_uppercase());
        text.extend_from_slice(b" HELP.");
        return Error::new(text);
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(&c_string(args[0], 128));
    text.extend_from_slice(b"', with args beginning with: ");
    let start = text.len();
    for arg in &args[1..] {
        let shown = text.len() - start;
        if shown >= 128 {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(&c_string(arg, 128 - shown));
        text.extend_from_slice(b"' ");
    }
    Error::new(text)
}

/// The part of a string that C prints: up to a NUL, and at most `max` bytes.
fn c_string(text: &[u8], max: usize) -> Vec<u8> {
    text.iter()
        .copied()
        .take(max)
        .take_while(|b| *b != 0)
        .collect()
}
