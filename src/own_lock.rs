//! Locks of another crate: as a program of its own, and in tests.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use locklab_ask::check::suite::Results;
use locklab_ask::check::{Check, Options};
use locklab_lab::{Exit, Format, Program, Session, Store};
use locklab_locks::Registration;

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
#[track_caller]
pub fn main(locks: &'static [Registration]) -> ExitCode {
    locklab_locks::register(locks);
    locklab_ask::main()
}

/// Does in a test what a command line of Locklab says, with these locks beside those of the
/// catalogue; the arguments are those after the program: `["study", "matrix", "--lock", "my-lock"]`. It
/// prints what the command prints.
///
/// # Panics
///
/// See [`locklab_locks::register`].
#[track_caller]
pub fn run(locks: &'static [Registration], arguments: &[&str]) -> Exit {
    locklab_locks::register(locks);
    let words = ["locklab"].iter().chain(arguments);
    locklab_ask::run(Program::started_with(IN_A_TEST), words.map(OsString::from))
}

/// The words of a shell that start the program of the crate whose test this is.
const IN_A_TEST: &str = "cargo run --quiet --";

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
    #[track_caller]
    pub fn new(locks: &'static [Registration]) -> Lab {
        locklab_locks::register(locks);
        Lab {
            program: IN_A_TEST.into(),
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
    /// failure; by default `cargo run --quiet --`.
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
        let program = Program::started_with(&self.program);
        let store = Store::at(&self.out, &Format::DEFAULT)?;
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let session = Session::new(program, store, threads);
        let options = Options {
            paths: paths.iter().map(ToString::to_string).collect(),
            ..Options::default()
        };
        Check::plan(options, &session.store)?.results(&session)
    }

    /// The same for a test: succeeds if all is as predicted.
    ///
    /// # Panics
    ///
    /// If it is not, with what differs and how to replay it.
    #[track_caller]
    pub fn assert(&self, paths: &[&str]) {
        match self.check(paths) {
            Err(error) => panic!("{error:#}"),
            Ok(results) if results.is_as_predicted() => {}
            Ok(results) => panic!("{}", locklab_ask::check::suite::failures(&results)),
        }
    }
}
