//! Shards that are killed: whenever that is, the merged result is the same.

use std::process::Stdio;

use locklab_testing::until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{Bench, Done};

/// Twenty-four parts of each shard, of some milliseconds each.
const SWEEP: [&str; 7] = [
    "study",
    "sweep",
    "kleppmann/k1",
    "--vary",
    "fault.gc.duration_ms=0..2300/23",
    "--seeds",
    if cfg!(debug_assertions) { "12" } else { "500" },
];

/// At how many moments it is killed.
const MOMENTS: usize = 10;

#[test]
fn a_shard_killed_at_any_of_ten_moments_changes_no_byte() {
    let bench = Bench::new("kills");
    let run = |options: &[&str]| bench.locklab(&[&SWEEP[..], options].concat());
    assert_eq!(run(&["--out", "whole"]).code, Some(0));
    let done = run(&["--shard", "2/2", "--out", "two"]);
    assert_eq!(done.code, Some(0), "{}", done.told());

    let first = ["--shard", "1/2", "--out", "one", "--jobs", "1"];
    let (mut killed, mut missed) = (0, 0);
    while killed < MOMENTS {
        // From before the first part on, each time some parts later.
        let done = killed_after(&bench, &[&SWEEP[..], &first].concat(), 2 * killed);
        match done.code {
            None => killed += 1,
            // This machine was too slow to kill it in time: begin anew.
            Some(_) => {
                missed += 1;
                assert!(missed < 20, "{}", done.told());
                std::fs::remove_dir_all(bench.folder.join("one")).expect("it was written");
            }
        }
    }
    let status = bench.locklab(&["shards", "status", "one", "two", "--json"]);
    assert_eq!(status.code, Some(3), "{}", status.told());
    let shards = &status.json()["works"][0]["shards"];
    assert_eq!(shards[0]["state"], "unfinished");
    assert_eq!(shards[1]["state"], "complete");
    let merged = bench.locklab(&["shards", "merge", "one", "two", "--out", "merged"]);
    assert_eq!(merged.code, Some(1), "{}", merged.told());
    let told = merged.in_one_line();
    assert!(told.contains("shard 1/2 is not finished"), "{told}");

    let done = run(&first);
    assert_eq!(done.code, Some(0), "{}", done.told());
    assert!(done.err.contains("runs were already done"), "{}", done.err);
    assert_eq!(
        bench.locklab(&["shards", "status", "one", "two"]).code,
        Some(0)
    );
    let merged = bench.locklab(&["shards", "merge", "one", "two", "--out", "merged"]);
    assert_eq!(merged.code, Some(0), "{}", merged.told());
    bench.assert_alike("whole", "merged");
}

/// Runs the program, and kills it when its ledger has so many lines of finished parts.
fn killed_after(bench: &Bench, arguments: &[&str], parts: usize) -> Done {
    let mut command = bench.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("the program starts");
    until(|| {
        let files = bench.files().into_iter();
        let mut ledgers = files.filter(|name| name.starts_with("one/") && name.ends_with(".jsonl"));
        let done = ledgers.next().and_then(|name| {
            let text = std::fs::read_to_string(bench.folder.join(name)).ok()?;
            Some(text.matches("\"done\":").count())
        });
        let has_ended = child.try_wait().is_ok_and(|ended| ended.is_some());
        match has_ended || done.is_some_and(|done| done >= parts) {
            true => Ok(()),
            false => Err("it is not so far"),
        }
    });
    let pid = i32::try_from(child.id()).expect("a process id");
    // If it has ended, it is not waited for yet, or was: then its number is free.
    if matches!(child.try_wait(), Ok(None)) {
        kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it is ours");
    }
    Done::from(child.wait_with_output().expect("it ends"))
}
