//! Folders of runs on real Redis whose process is gone.
//!
//! A folder is ours if it has the name of one, belongs to this user, and has the mark in it (or
//! nothing at all, since its process may end before it makes the mark). It has an owner as long as
//! a process holds a lock on it, which the kernel releases when that process ends, however it does.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;

/// The beginning of the name of each folder.
const PREFIX: &str = "locklab-run-";

/// The file that marks a folder as one of Locklab's.
const MARK: &str = "made-by-locklab";

/// The name of a folder of this process.
pub(super) fn name(process: u32, number: u32) -> String {
    format!("{PREFIX}{process}-{number}")
}

/// Makes a folder, and locks it for this process. `None` if another process has a folder of this
/// name, or has just deleted this one.
pub(super) fn create(path: &Path) -> io::Result<Option<Flock<File>>> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        made => made?,
    }
    // A sweep may delete it before it is locked: then try another one.
    let Some(folder) = open(path)? else {
        return Ok(None);
    };
    let Ok(lock) = Flock::lock(folder, FlockArg::LockExclusiveNonblock) else {
        return Ok(None);
    };
    match File::create_new(path.join(MARK)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        made => made.map(|_| Some(lock)),
    }
}

/// Deletes all folders of runs here that have no owner. Those that cannot be deleted remain.
pub(super) fn sweep(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_name) {
            // Nothing of this run depends on it.
            let _ = delete_unowned(&entry.path(), FlockArg::LockExclusiveNonblock);
        }
    }
}

/// Waits until this folder has no owner, and deletes it.
pub(super) fn delete_after_owner(path: &Path) -> io::Result<()> {
    delete_unowned(path, FlockArg::LockExclusive)
}

fn delete_unowned(path: &Path, wait: FlockArg) -> io::Result<()> {
    let Some(folder) = open(path)? else {
        return Ok(());
    };
    if folder.metadata()?.uid() != geteuid().as_raw() {
        return Ok(());
    }
    // Held until it is deleted, so that nobody takes it in between.
    let Ok(_lock) = Flock::lock(folder, wait) else {
        return Ok(());
    };
    match path.join(MARK).exists() {
        true => delete(path),
        // An error if there is anything in it.
        false => no_error_if_absent(fs::remove_dir(path)),
    }
}

/// Deletes a folder with all that is in it, the mark at last; none is no error.
pub(super) fn delete(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name() != MARK {
            no_error_if_absent(match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            })?;
        }
    }
    no_error_if_absent(fs::remove_file(path.join(MARK)))?;
    no_error_if_absent(fs::remove_dir(path))
}

/// Opens a folder, not through a symbolic link; `None` if there is none.
fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path);
    match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

fn no_error_if_absent(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Whether [`name`] makes this.
fn is_name(text: &str) -> bool {
    let numbers = text.strip_prefix(PREFIX).and_then(|it| it.split_once('-'));
    numbers.is_some_and(|(process, number)| {
        process.parse::<u32>().is_ok() && number.parse::<u32>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder for the folders of a test.
    struct All(PathBuf);

    impl All {
        fn new(test: &str) -> Self {
            let name = format!("locklab-orphans-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).expect("it is new");
            Self(path)
        }

        /// A folder of this name with a file and a folder in it.
        fn filled(&self, name: &str) -> (PathBuf, Flock<File>) {
            let path = self.0.join(name);
            let lock = create(&path).expect("it is made").expect("it is new");
            fs::create_dir(path.join("n1")).expect("it is new");
            fs::write(path.join("n1/appendonly.aof"), "data").expect("it is written");
            (path, lock)
        }
    }

    impl Drop for All {
        fn drop(&mut self) {
            // A leftover folder among temporary ones does no harm.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sweep_deletes_folders_without_an_owner_and_no_others() {
        let all = All::new("sweep");
        let (owned, lock) = all.filled(&name(1, 1));
        let (orphan, _) = all.filled(&name(1, 2));
        let unmarked = all.0.join(name(1, 3));
        let empty = all.0.join(name(1, 4));
        let foreign = all.0.join("locklab-run-of-mine");
        let file = all.0.join(name(1, 5));
        let link = all.0.join(name(1, 6));
        for path in [&unmarked, &empty, &foreign] {
            fs::create_dir(path).expect("it is new");
        }
        let (target, _) = all.filled("target");
        std::os::unix::fs::symlink(&target, &link).expect("it is new");
        fs::write(unmarked.join("data"), "").expect("it is written");
        fs::write(&file, "").expect("it is written");

        sweep(&all.0);
        assert!(!orphan.exists() && !empty.exists());
        for path in [&owned, &unmarked, &foreign, &file, &link, &target] {
            assert!(path.exists(), "{}", path.display());
        }
        assert!(owned.join("n1/appendonly.aof").exists());

        drop(lock);
        sweep(&all.0);
        assert!(!owned.exists());
    }

    #[test]
    fn nobody_makes_a_folder_that_exists() {
        let all = All::new("exists");
        let (path, _lock) = all.filled(&name(2, 1));
        assert!(create(&path).expect("no error").is_none());
    }

    #[test]
    fn a_folder_that_was_deleted_in_part_is_deleted() {
        let all = All::new("part");
        let (path, lock) = all.filled(&name(3, 1));
        drop(lock);
        fs::remove_dir_all(path.join("n1")).expect("it is there");
        sweep(&all.0);
        assert!(!path.exists());
    }
}
