//! The program's output: text for people on standard error, data on standard output, and
//! command lines to paste. A closed pipe, as with `| head`, is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use serde::Serialize;

/// Prints a line for people, like `eprintln!`, but ignores errors.
macro_rules! tell {
    () => { $crate::cli::say::to_people(format_args!("")) };
    ($($arg:tt)*) => { $crate::cli::say::to_people(format_args!($($arg)*)) };
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

/// A command of this program as a line to paste in the current shell and folder.
pub(super) fn line(arguments: &[&str]) -> String {
    let program = std::env::args_os().next().map_or_else(
        || "locklab".into(),
        |program| program.to_string_lossy().into_owned(),
    );
    let words = [&[program.as_str()], arguments].concat();
    let words: Vec<_> = words.into_iter().map(quoted).collect();
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

/// A word quoted for a shell: unchanged if every shell takes it literally, otherwise in single
/// quotes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [
            ("target/locklab/seed-0.jsonl", "target/locklab/seed-0.jsonl"),
            ("lock.ttl_ms=500", "lock.ttl_ms=500"),
            ("my results/x", "'my results/x'"),
            ("it's", r"'it'\''s'"),
            ("on=[\"c1\"]", "'on=[\"c1\"]'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
