//! Data on standard output, human-readable text on standard error, and readers that close
//! early.

use std::process::Stdio;

use crate::bench::{Bench, Done};

#[test]
fn data_and_text_do_not_mix() {
    let bench = Bench::new("data-and-text");
    let text = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    assert_eq!((text.code, text.out.as_str()), (Some(0), ""));
    let data = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80", "--json"]);
    assert_eq!(data.err, text.err);
    assert_eq!(data.json()["results"][0]["scenario"], "kleppmann/k5");
}

/// No colours without a terminal, and no progress bar for a short run.
#[test]
fn plain_text_is_plain() {
    let bench = Bench::new("plain");
    let run = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    assert!(!run.err.contains(['\u{1b}', '\r']), "{}", run.err);
    let mut command = bench.command(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    let colourful = Done::from(command.env("CLICOLOR_FORCE", "1").output().expect("runs"));
    assert!(colourful.err.contains('\u{1b}'), "{}", colourful.err);
}

/// As in `locklab … | head`, but this head has exited before the first line.
#[test]
fn a_reader_who_has_left_is_no_error() {
    let bench = Bench::new("reader-left");
    for arguments in [
        &["list", "scenarios"][..],
        &["list", "scenarios", "--json"],
        &["completions", "bash"],
        &["run", "kleppmann/k5", "--seeds", "0..80", "--json"],
    ] {
        let mut command = bench.command(arguments);
        command.stdout(closed()).stderr(Stdio::piped());
        let done = Done::from(command.output().expect("runs"));
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.err);
        assert!(!done.err.contains("panicked"), "{}", done.err);
    }
    let mut command = bench.command(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    let done = command.stderr(closed()).output().expect("runs");
    assert_eq!(done.status.code(), Some(0));
}

/// The writing end of a pipe whose reading end is closed.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}
