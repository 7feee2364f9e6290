//! The program's output: results on standard output; progress, hints and errors on standard error.
//! A closed pipe, as with `| head`, is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

use super::layout;
use locklab_values::untrusted::{self, Colours};

/// What standard output has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdout {
    /// Results for people.
    Text,
    /// Results as JSON; those for people are on standard error.
    Json,
    /// Nothing, since it is another program's, as in a test; results are on standard error.
    Nothing,
}

impl Stdout {
    /// With JSON if the user asked for that.
    pub fn of(json: bool) -> Self {
        match json {
            true => Stdout::Json,
            false => Stdout::Text,
        }
    }

    /// Prints lines of results for people.
    ///
    /// # Errors
    ///
    /// See [`print_exactly`].
    pub fn tell(self, text: &str) -> anyhow::Result<()> {
        match self {
            Stdout::Text => write_line(&for_people(text, console::colors_enabled())),
            // Its colours are those of standard output.
            Stdout::Json | Stdout::Nothing => {
                status!("{}", console::strip_ansi_codes(text));
                Ok(())
            }
        }
    }
}

/// Prints a line about the work on standard error, like `eprintln!`, but ignores errors.
#[macro_export]
macro_rules! status {
    () => { $crate::output::to_people(format_args!("")) };
    ($($arg:tt)*) => { $crate::output::to_people(format_args!($($arg)*)) };
}
pub use crate::status;

/// Prints a line about the work.
pub fn to_people(line: Arguments<'_>) {
    let line = for_people(&line.to_string(), console::colors_enabled_stderr());
    // If standard error cannot be written, the error cannot be reported either.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints what people asked for, such as a list, on standard output.
///
/// # Errors
///
/// See [`print_exactly`].
pub fn print(text: &str) -> anyhow::Result<()> {
    print_exactly(&for_people(text, console::colors_enabled()))
}

/// Text for a terminal with or without colours: safe, and in the characters of the locale.
fn for_people(text: &str, has_colours: bool) -> String {
    let colours = match has_colours {
        true => Colours::Kept,
        false => Colours::Shown,
    };
    layout::spelled(&untrusted::terminal(text, colours), layout::characters())
}

/// Prints data for a program. The caller has escaped untrusted text in it.
///
/// # Errors
///
/// If standard output cannot be written, for another reason than a closed pipe.
pub fn print_exactly(text: &str) -> anyhow::Result<()> {
    write_line(text.trim_end())
}

fn write_line(line: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let printed = writeln!(out, "{line}").and_then(|()| out.flush());
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
