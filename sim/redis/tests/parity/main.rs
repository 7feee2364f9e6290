//! The fake node against a real `redis-server`: the same requests, the same
//! replies, byte for byte.
//!
//! Each test starts a server of its own on a free port of the loopback and stops
//! it at the end. The fake's clock is set by asking the real server for its time.
//! `LOCKLAB_REDIS_SERVER` names another server; see `versions` for those of other versions.

/// Tests whose requests stand in files, one file for each test: `FOLDER/NAME.txt`. A paragraph is a case, which begins
/// with empty servers; a line that begins with `#` is a comment.
macro_rules! files {
    ($folder:literal: $($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(&crate::cases_in(include_str!(concat!($folder, "/", stringify!($name), ".txt"))));
        })*
    };
}

mod absent;
mod busy;
mod cases;
mod client_info;
mod command_flags;
mod databases;
mod following;
mod handover;
mod info;
mod lock_scripts;
mod pair;
mod passwords;
mod random;
mod real;
mod replication;
mod replication_state;
mod script_flags;
mod scripts;
mod sentinel;
mod shutdown;
mod talk;
mod talks;
mod tracking_limit;
mod versions;
mod wire;
mod writable_replica;

/// The cases of a file.
fn cases_in(text: &str) -> Vec<&str> {
    let paragraphs = text.split("\n\n");
    paragraphs
        .filter(|case| requests(case).next().is_some())
        .collect()
}

/// The requests of a case, without the comments.
fn requests(case: &str) -> impl Iterator<Item = &str> {
    let lines = case.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}
