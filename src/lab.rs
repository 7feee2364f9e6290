//! Locks of another crate: as a program of its own, and in tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use locklab_cli::Exit;
use locklab_locks::Registration;
use locklab_suite::Results;

/// The command line, with these locks beside those of the catalogue: the whole `main` of a program
/// that tests them.
///
/// ```no_run
/// # const LOCKS: &[locklab::locks::Registration] = &[];
/// fn main() -> std::process::ExitCode {
///     locklab::main(LOCKS)
/// }
/// ```
///
/// # Panics
///
/// See [`locklab_locks::register`].
pub fn main(locks: &'static [Registration]) -> ExitCode {
    locklab_locks::register(locks);
    locklab_cli::main()
}

/// The laboratory in a test.
///
/// ```no_run
/// # const LOCKS: &[locklab::locks::Registration] = &[];
/// #[test]
/// fn my_lock_keeps_its_promises() {
///     locklab::Lab::new(LOCKS).assert(&["scenarios", "regressions"]);
/// }
/// ```
///
/// It prints what `locklab check` prints, and writes the same files (JUnit, Markdown, CSV, JSON,
/// and a recording and a picture for each failure) into `target/locklab/check`.
#[derive(Debug, Clone)]
pub struct Lab {
    program: String,
    out: PathBuf,
}

impl Lab {
    /// A laboratory with these locks beside those of the catalogue.
    ///
    /// # Panics
    ///
    /// See [`locklab_locks::register`].
    pub fn new(locks: &'static [Registration]) -> Lab {
        locklab_locks::register(locks);
        Lab {
            program: "cargo run --quiet --".into(),
            out: "target/locklab".into(),
        }
    }

    /// Writes into this folder instead of `target/locklab`. Tests that run at the same time need
    /// one each.
    #[must_use]
    pub fn out(self, folder: impl AsRef<Path>) -> Lab {
        let out = folder.as_ref().to_owned();
        Lab { out, ..self }
    }

    /// The words of a shell that start the program with these locks, for the commands that replay a
    /// failure; `cargo run --quiet --` unless said otherwise. The first laboratory of a process
    /// decides.
    #[must_use]
    pub fn program(self, words: &str) -> Lab {
        let program = words.into();
        Lab { program, ..self }
    }

    /// Runs the scenarios and recordings of these files and folders, as `locklab check` does.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read or run, with the place and the reason.
    pub fn check(&self, paths: &[&str]) -> anyhow::Result<Results> {
        locklab_cli::set_program(&self.program);
        locklab_cli::check(&self.out, paths)
    }

    /// The same for a test: succeeds if all is as predicted.
    ///
    /// # Panics
    ///
    /// If it is not, with what differs and how to replay it.
    pub fn assert(&self, paths: &[&str]) {
        match self.check(paths) {
            Err(error) => panic!("{error:#}"),
            Ok(results) if results.is_as_predicted() => {}
            Ok(results) => panic!("{}", locklab_suite::markdown(&results)),
        }
    }

    /// Does what any command line of Locklab says, without the program:
    /// `["matrix", "--lock", "my-lock"]`. It prints what the command prints.
    pub fn run(&self, arguments: &[&str]) -> Exit {
        locklab_cli::set_program(&self.program);
        let words = ["locklab"].iter().chain(arguments);
        locklab_cli::run(words.map(OsString::from))
    }
}
