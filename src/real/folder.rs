//! The folder of a run: the files of its servers, and their clock files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use locklab_history::Name;

/// The folders that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A folder for this run only. Dropping it deletes it. If the testbed is killed, a process of the
/// run does so: see [`super::process`].
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a new one in the system's folder for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("locklab-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        // The folder of an earlier process with the same id.
        remove(&path)?;
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder of a host, in which its server keeps its files.
    pub(super) fn of_host(&self, host: &Name) -> io::Result<PathBuf> {
        let path = self.0.join(&**host);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error cannot be reported here.
        let _ = remove(&self.0);
    }
}

/// Deletes a folder with all that is in it; none is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
