//! Which Locklab made results, and on which machine: what a reader needs who compares them with others.
//! Neither the name of the machine nor a path on it.

use std::path::Path;
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

/// The folder that this program was built from. One for other machines is built with `LOCKLAB_SOURCES`, and names none of
/// its maker's.
pub const SOURCES: &str = match option_env!("LOCKLAB_SOURCES") {
    Some(folder) => folder,
    None => concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
};

/// The commit of this program: what it was built with as `LOCKLAB_COMMIT`, or else where the clone is that it was built
/// from, if that is one. The folder in which it runs may be a clone of something else.
pub fn commit() -> Option<String> {
    if let Some(commit) = option_env!("LOCKLAB_COMMIT") {
        return Some(commit.to_owned());
    }
    let sources = Path::new(SOURCES);
    if !sources.is_absolute() || !sources.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .arg("-C")
        .arg(sources)
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    let commit = commit.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.into())
}
