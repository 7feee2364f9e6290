//! Results on standard output, progress and hints on standard error, and readers that close early.

use std::process::Stdio;

use crate::bench::{Bench, Done};

#[test]
fn data_and_text_do_not_mix() {
    let bench = Bench::new("data-and-text");
    let text = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    assert_eq!((text.code, text.err.as_str()), (Some(0), ""));
    let data = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80", "--json"]);
    assert_eq!(data.err, text.out);
    assert_eq!(data.json()["results"][0]["scenario"], "kleppmann/k5");
}

#[test]
fn results_are_on_standard_output_for_every_command() {
    let bench = Bench::new("results");
    let locklab = |command: &str| bench.locklab(&command.split(' ').collect::<Vec<_>>());
    // The advice on how to go on is no result.
    for (shard, out) in [("1/2", "one"), ("2/2", "two")] {
        let run = format!("run kleppmann/k1 --seeds 4 --shard {shard} --out {out}");
        let done = locklab(&run);
        assert_eq!((done.code, &*done.out), (Some(0), ""), "{}", done.err);
        let advice = format!("shard {shard} is complete");
        assert!(done.err.contains(&advice), "{}", done.err);
    }
    for (command, expected) in [
        ("run kleppmann/k1 --seeds 4", "resource"),
        (
            "run kleppmann/k1 --seeds 4 --twice",
            "every event identical",
        ),
        (
            "sweep kleppmann/k1 --vary lock.ttl_ms=900 --seeds 3",
            "lock.ttl_ms=900",
        ),
        ("check kleppmann/k1", "1 case, 302 runs"),
        ("check kleppmann/k1 --mutants", "mistakes are noticed"),
        (
            "compare target/locklab/check/check.json target/locklab/check/check.json",
            "no significant change",
        ),
        (
            "merge one/run-shard-1-of-2.jsonl two/run-shard-2-of-2.jsonl",
            "resource",
        ),
        (
            "matrix --lock setnx --problem crash --seeds 3",
            "Locks against problems",
        ),
        (
            "campaign --lock consensus --seeds 1",
            "Safety under random faults",
        ),
        ("cost --lock redisson-spin --seeds 2", "What a lock costs"),
        ("reproduce --quick --only F1", "F1"),
        (
            "replay target/locklab/kleppmann-k1/seed-0.jsonl",
            "the same run, byte for byte",
        ),
        (
            "view target/locklab/kleppmann-k1/seed-0.jsonl",
            "kleppmann-k1/seed-0.html",
        ),
        ("list scenarios", "kleppmann/k1"),
        ("man --into man1", "man1"),
    ] {
        let done = locklab(command);
        assert!(done.out.contains(expected), "{command}: {}", done.told());
        assert_eq!(done.err, "", "{command}");
    }
}

/// No colours without a terminal, and no progress bar for a short run.
#[test]
fn plain_text_is_plain() {
    let bench = Bench::new("plain");
    let run = bench.locklab(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    assert!(!run.out.contains(['\u{1b}', '\r']), "{}", run.out);
    let mut command = bench.command(&["run", "kleppmann/k5", "--seeds", "0..80"]);
    let colourful = Done::from(command.env("CLICOLOR_FORCE", "1").output().expect("runs"));
    assert!(colourful.out.contains('\u{1b}'), "{}", colourful.out);
}

/// As in `locklab … | head`, but this head has exited before the first line.
#[test]
fn a_reader_who_has_left_is_no_error() {
    let bench = Bench::new("reader-left");
    for arguments in [
        &["list", "scenarios"][..],
        &["list", "scenarios", "--json"],
        &["completions", "bash"],
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
