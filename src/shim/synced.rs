//! The log of syncs that the preloaded library writes.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{io, num};

/// How many bytes of each file are on the disk, by the log that `preload/synced.c` writes: a line
/// `device inode birth_ns bytes` for each successful sync, and one with 0 bytes for each file whose
/// name is removed, or which is emptied when it is opened. The last line of a file applies. If its bytes
/// begin with `<`, the file was cut: at most so many are left of what the lines before say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncedLog(BTreeMap<Identity, u64>);

/// The identity of a file under any name: device, inode, and time of birth, because an inode is
/// reused soon after its file is deleted, and Redis replaces its files by new ones.
type Identity = [u64; 3];

impl SyncedLog {
    /// Reads a log.
    ///
    /// # Errors
    ///
    /// If there is none, for then the process did not load the library. If it contains something
    /// else (`InvalidData`).
    pub fn read(path: &Path) -> io::Result<SyncedLog> {
        let text = fs::read_to_string(path)?;
        let lines: Option<Vec<_>> = text.lines().map(parse).collect();
        lines.map(SyncedLog::of).ok_or_else(|| {
            let reason = format!("{}: no log of syncs", path.display());
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })
    }

    fn of(lines: impl IntoIterator<Item = (Identity, OnDisk)>) -> SyncedLog {
        let mut files: BTreeMap<Identity, u64> = BTreeMap::new();
        for (file, bytes) in lines {
            match bytes {
                OnDisk::All(bytes) => drop(files.insert(file, bytes)),
                OnDisk::AtMost(bytes) => {
                    files
                        .entry(file)
                        .and_modify(|there| *there = bytes.min(*there));
                }
            }
        }
        SyncedLog(files)
    }

    /// How many bytes of a file are on the disk; 0 if it was never synced. It may be more than
    /// the file now has.
    pub fn durable_bytes(&self, file: &Metadata) -> u64 {
        let found = self.0.get(&identity(file));
        found.copied().unwrap_or_default()
    }
}

/// The line that says that all of a file is on the disk.
pub(crate) fn line(file: &Metadata) -> String {
    let [device, inode, birth_ns] = identity(file);
    format!("{device} {inode} {birth_ns} {}\n", file.len())
}

/// What a line says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    /// These bytes are on the disk.
    All(u64),
    /// Of what was there, at most these.
    AtMost(u64),
}

fn parse(line: &str) -> Option<(Identity, OnDisk)> {
    let (file, bytes) = line.rsplit_once(' ')?;
    let numbers: Result<Vec<u64>, num::ParseIntError> = file.split(' ').map(str::parse).collect();
    let file = Identity::try_from(numbers.ok()?).ok()?;
    Some(match bytes.strip_prefix('<') {
        Some(most) => (file, OnDisk::AtMost(most.parse().ok()?)),
        None => (file, OnDisk::All(bytes.parse().ok()?)),
    })
}

/// The identity as `preload/synced.c` writes it: the birth is 0 if the file system does not record
/// it.
fn identity(file: &Metadata) -> Identity {
    let birth = file.created().ok();
    let birth = birth.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let birth_ns = birth.map_or(0, |since| since.as_nanos() as u64);
    [file.dev(), file.ino(), birth_ns]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_four_numbers() {
        assert_eq!(parse("1 2 3 4"), Some(([1, 2, 3], OnDisk::All(4))));
        assert_eq!(parse("1 2 3 <4"), Some(([1, 2, 3], OnDisk::AtMost(4))));
        for other in [
            "",
            "1 2 3",
            "1 2 3 4 5",
            "1 2 3 x",
            "1  2 3",
            "-1 2 3 4",
            "1 2 <3 4",
            "1 2 3 <",
        ] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn the_last_line_of_a_file_holds() {
        let files = |lines: &[&str]| SyncedLog::of(lines.iter().filter_map(|line| parse(line))).0;
        let log = files(&["1 2 3 9", "1 2 4 5", "1 2 3 7"]);
        assert_eq!(log, BTreeMap::from([([1, 2, 3], 7), ([1, 2, 4], 5)]));
    }

    #[test]
    fn a_cut_leaves_at_most_what_was_there() {
        let bytes = |lines: &[&str]| {
            let lines = lines.iter().filter_map(|line| parse(line));
            SyncedLog::of(lines).0.get(&[1, 2, 3]).copied()
        };
        assert_eq!(bytes(&["1 2 3 9", "1 2 3 <4"]), Some(4));
        assert_eq!(bytes(&["1 2 3 9", "1 2 3 <12"]), Some(9));
        assert_eq!(bytes(&["1 2 3 9", "1 2 3 <4", "1 2 3 12"]), Some(12));
        assert_eq!(bytes(&["1 2 3 <4"]), None);
    }
}
