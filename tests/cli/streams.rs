//! Readers of the output that close early; what is on which stream is in `transcripts/streams.txt`.

use std::process::Stdio;

use crate::bench::{Bench, Done};

/// As in `locklab … | head`, but this head has exited before the first line.
#[test]
fn a_reader_who_has_left_is_no_error() {
    let bench = Bench::new("reader-left");
    for arguments in [
        &["list", "scenarios"][..],
        &["list", "scenarios", "--json"],
        &["setup", "completions", "bash"],
        &["run", "kleppmann/k5", "--seeds", "0..80"],
        &["run", "kleppmann/k5", "--seeds", "0..80", "--json"],
    ] {
        let mut command = bench.command(arguments);
        command.stdout(closed()).stderr(Stdio::piped());
        let done = Done::from(command.output().expect("runs"));
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.err);
        assert!(!done.err.contains("panicked"), "{}", done.err);
    }
    let mut command = bench.command(&["run", "kleppmann/k5", "--seeds", "0..80", "--json"]);
    let done = command.stderr(closed()).output().expect("runs");
    assert_eq!(done.status.code(), Some(0));
}

/// The writing end of a pipe whose reading end is closed.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}
