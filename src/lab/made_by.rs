//! Which Locklab made results, and on which machine: what a reader needs who compares them with others.
//! Neither the name of the machine nor a path on it.

use std::process::Command;
use std::{env, fs, thread};

use locklab_report::PRODUCER;

/// Program and machine in one line: `Locklab 0.1.0 at commit 2a283b2e4c1f on 2 cores, x86_64, linux 6.1.0`.
pub fn made_by() -> String {
    let commit = commit().map_or(String::new(), |commit| format!(" at commit {commit}"));
    format!("{PRODUCER}{commit} on {}", machine())
}

/// The machine: `2 cores, x86_64, linux 6.1.0`.
pub fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (system, processor) = (env::consts::OS, env::consts::ARCH);
    format!("{cores} cores, {processor}, {system} {}", kernel.trim())
}

/// The commit of the clone that this was run in, if it was run in one.
pub fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    let commit = commit.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.into())
}
