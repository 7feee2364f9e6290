//! The program's output: text for people on standard error, data on standard output, and
//! command lines to paste. A closed pipe, as with `| head`, is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use anyhow::Context;
use serde::Serialize;

use locklab_suite::shell::quoted;

/// Prints a line for people, like `eprintln!`, but ignores errors.
macro_rules! tell {
    () => { $crate::say::to_people(format_args!("")) };
    ($($arg:tt)*) => { $crate::say::to_people(format_args!($($arg)*)) };
}
pub(super) use tell;

/// Prints a line for people.
pub(super) fn to_people(line: Arguments<'_>) {
    // If standard error cannot be written, the error cannot be reported either.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints data.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let printed = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints data for a program.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

static PROGRAM: OnceLock<String> = OnceLock::new();

/// Says with which words of a shell this program is started, where its own path does not: in a
/// test.
pub fn set_program(words: &str) {
    // It is said once, at the beginning.
    let _ = PROGRAM.set(words.into());
}

/// The path with which this program was started.
fn path() -> String {
    let started = std::env::args_os().next();
    started.map_or("locklab".into(), |path| path.to_string_lossy().into())
}

/// The words that start this program on a machine where it is installed.
pub(super) fn program_name() -> String {
    let name = || path().rsplit('/').next().unwrap_or_default().into();
    PROGRAM.get().cloned().unwrap_or_else(name)
}

/// A command of this program as a line to paste in the current shell and folder.
pub(super) fn line(arguments: &[&str]) -> String {
    let program = PROGRAM.get().cloned();
    let program = program.unwrap_or_else(|| quoted(&path()));
    let words = arguments.iter().map(|word| quoted(word));
    let words: Vec<String> = [program].into_iter().chain(words).collect();
    words.join(" ")
}

/// The command line that runs a scenario with one seed.
pub(super) fn run_line(scenario: &str, sets: &[String], seed: u64) -> String {
    let seed = seed.to_string();
    let mut arguments = vec!["run", scenario];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    arguments.extend(["--seed", &seed]);
    line(&arguments)
}
