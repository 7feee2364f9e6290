//! The fake node against a real `redis-server`: the same requests, the same
//! replies, byte for byte.
//!
//! Each test starts a server of its own on a free port of the loopback and stops
//! it at the end. The fake's clock is set by asking the real server for its time.
//! `LOCKLAB_REDIS_SERVER` names another server; see `versions` for those of other versions.

/// Tests whose requests stand in files, one file for each test: `FOLDER/NAME.txt`. Their format is in `data.rs`.
macro_rules! files {
    ($folder:literal: $($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(include_str!(concat!($folder, "/", stringify!($name), ".txt")));
        })*
    };
}

mod absent;
mod busy;
mod cases;
mod command_flags;
mod data;
mod databases;
mod following;
mod info;
mod pair;
mod random;
mod raw;
mod real;
mod replication;
mod scripts;
mod sentinel;
mod stories;
mod talk;
mod talks;
mod tracking_limit;
mod versions;
mod wire;
