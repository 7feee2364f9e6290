//! The program's output: text for people on standard error, data on standard output. A closed pipe,
//! as with `| head`, is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

use locklab_values::untrusted::{self, Colours};

/// Prints a line for people, like `eprintln!`, but ignores errors.
#[macro_export]
macro_rules! status {
    () => { $crate::output::to_people(format_args!("")) };
    ($($arg:tt)*) => { $crate::output::to_people(format_args!($($arg)*)) };
}
pub use crate::status;

/// Prints a line for people.
pub fn to_people(line: Arguments<'_>) {
    let safe = untrusted::terminal(&line.to_string(), colours(console::colors_enabled_stderr()));
    // If standard error cannot be written, the error cannot be reported either.
    let _ = writeln!(io::stderr().lock(), "{safe}");
}

/// Prints what people asked for, such as a list, on standard output.
///
/// # Errors
///
/// See [`print_exactly`].
pub fn print(text: &str) -> anyhow::Result<()> {
    print_exactly(&untrusted::terminal(
        text,
        colours(console::colors_enabled()),
    ))
}

fn colours(are_enabled: bool) -> Colours {
    match are_enabled {
        true => Colours::Kept,
        false => Colours::Shown,
    }
}

/// Prints data for a program. The caller has escaped untrusted text in it.
///
/// # Errors
///
/// If standard output cannot be written, for another reason than a closed pipe.
pub fn print_exactly(text: &str) -> anyhow::Result<()> {
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
/// See [`print_exactly`].
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_exactly(&untrusted::json(&serde_json::to_string_pretty(value)?))
}
