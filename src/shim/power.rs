//! A power loss: what a killed process had written but not synced is taken away.
//!
//! A real power loss is kinder or crueller. This one is the worst that the rules of `fsync` allow
//! for files that grow at their end, and no worse:
//!
//! - Of each file the bytes remain that it had when its last successful sync began. The kernel
//!   would have written most of the others within 30 s of its own accord.
//! - Names are durable: a file that was created, renamed or deleted stays so, even if its folder
//!   was not synced. Redis syncs the folder after each rename that matters.
//! - A file that was emptied when it was opened (`O_TRUNC`, `creat`, `fopen` with `w`) has nothing on
//!   the disk until the next sync.
//! - Bytes that were overwritten in place are not restored, and a file that was cut off by `truncate` or
//!   `ftruncate` and has grown again keeps its new bytes up to the last durable length. Redis writes its append-only
//!   files and snapshots only at their end, and replaces its other files by a rename; an
//!   exception is the `nodes.conf` of a cluster. ZooKeeper does the same if it allocates no space for its
//!   log in advance (`zookeeper.preAllocSize`).
//! - `sync_file_range`, `msync`, `sync`, `syncfs` and files opened with `O_SYNC` are not noted.
//!   The first two promise nothing; Redis uses none of the others.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{SyncedLog, synced};

/// The data that a file lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The file.
    pub path: PathBuf,
    /// Its length before, in bytes.
    pub bytes_before: u64,
    /// Its length now, in bytes.
    pub bytes_kept: u64,
}

/// Truncates every regular file below `data_folder` to its synced size according to `synced_log`: a
/// file that was never synced becomes empty. Returns the files that lost data, in the order of
/// their paths. Links are not followed.
///
/// Every process that writes there must have been killed before, with `SIGKILL`: also a child that
/// saves a snapshot or rewrites the append-only file, which outlives its parent. The log may be
/// from several consecutive processes, and the next one may continue it.
///
/// # Errors
///
/// - `NotFound` if there is no log: then the process did not load the library.
/// - `InvalidInput` if the log is itself below the folder.
/// - `InvalidData` if it is no such log.
/// - If a file cannot be read or truncated. Earlier files have been truncated.
pub fn lose_unsynced(data_folder: &Path, synced_log: &Path) -> io::Result<Vec<Loss>> {
    let log = SyncedLog::read(synced_log)?;
    if synced_log
        .canonicalize()?
        .starts_with(data_folder.canonicalize()?)
    {
        let reason = "the log of syncs would itself be lost: put it outside the folder";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let mut losses = Vec::new();
    lose_below(data_folder, &log, &mut losses)?;
    Ok(losses)
}

/// Notes in the log that everything below `data_folder` is on the disk: the kernel writes what nobody
/// syncs within 30 s, so a server that has been running for longer has lost nothing of it.
///
/// # Errors
///
/// If a file or the log cannot be read or written.
pub fn settle(data_folder: &Path, synced_log: &Path) -> io::Result<()> {
    let log = &mut OpenOptions::new().append(true).open(synced_log)?;
    settle_below(data_folder, log)
}

fn settle_below(folder: &Path, log: &mut File) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A file that a server replaces meanwhile is left to the server.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            settle_below(&path, log)?;
        } else if metadata.is_file() {
            log.write_all(synced::line(&metadata).as_bytes())?;
        }
    }
    Ok(())
}

fn lose_below(folder: &Path, log: &SyncedLog, losses: &mut Vec<Loss>) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            lose_below(&path, log, losses)?;
        } else if metadata.is_file() {
            let bytes_before = metadata.len();
            let bytes_kept = log.durable_bytes(&metadata);
            if bytes_kept < bytes_before {
                OpenOptions::new()
                    .write(true)
                    .open(&path)?
                    .set_len(bytes_kept)?;
                losses.push(Loss {
                    path,
                    bytes_before,
                    bytes_kept,
                });
            }
        }
    }
    Ok(())
}
