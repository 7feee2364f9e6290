//! The program's output: text for people on standard error, data on standard output. A closed pipe,
//! as with `| head`, is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

/// Prints a line for people, like `eprintln!`, but ignores errors.
#[macro_export]
macro_rules! status {
    () => { $crate::output::to_people(format_args!("")) };
    ($($arg:tt)*) => { $crate::output::to_people(format_args!($($arg)*)) };
}
pub use crate::status;

/// Prints a line for people.
pub fn to_people(line: Arguments<'_>) {
    // If standard error cannot be written, the error cannot be reported either.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints data.
///
/// # Errors
///
/// If standard output cannot be written, for another reason than a closed pipe.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let printed = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints data for a program.
///
/// # Errors
///
/// See [`print()`].
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}
