//! How and on what a page was made.

use std::fs;
use std::process::Command;
use std::time::Duration;

use locklab_report::PRODUCER;

/// What a reader needs in order to repeat it.
pub(super) fn how(quick: bool, redis: Option<&str>, took: Duration) -> Vec<(&'static str, String)> {
    let mut how = vec![("Program", PRODUCER.to_owned())];
    how.extend(commit().map(|commit| ("Commit", commit)));
    how.push((
        "Command",
        format!(
            "locklab reproduce{}{}; locklab stands for “cargo run --release --” in a clone",
            if quick { " --quick" } else { "" },
            if redis.is_some() { " --on redis" } else { "" },
        ),
    ));
    how.push((
        "Seeds",
        "from 0 on, for each scenario as many as its predictions need; in a sweep the same in \
         every cell"
            .into(),
    ));
    how.push((
        "Real servers",
        match redis {
            Some(version) => format!("Redis {version}, each scenario four times or more"),
            None => "none in this run; reports/confirm compares the simulation with Redis".into(),
        },
    ));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    how.push((
        "Machine",
        format!("{cores} cores, {processor}, {system} {}", kernel.trim()),
    ));
    how.push(("Time", format!("{} s", took.as_secs())));
    how
}

/// The commit of the clone that this was run in, if it was run in one.
fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    let commit = commit.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.into())
}
