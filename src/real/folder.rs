//! The folder of a run: the files of its servers, and their clock files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, mpsc};

use locklab_history::Name;
use nix::fcntl::Flock;

use super::child::{Child, Collector, ProcessId};
use super::child_protocol::{Job, Role};
use super::kept::Kept;
use super::{Clients, ConfirmError, Programs, orphans};

/// The folders that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A folder for this run only. Dropping it deletes it. If this process is killed, the janitor
/// does so; if that is killed too, the next run that starts: see [`orphans`].
pub(super) struct Folder {
    path: PathBuf,
    /// Says that the folder has an owner. The kernel takes it back from a process that ends.
    _lock: Flock<File>,
    /// Ended after the folder is deleted.
    _janitor: Child,
}

impl Folder {
    /// Makes a new one in the system's folder for temporary files, and deletes those that killed
    /// processes have left there.
    pub(super) fn new(programs: &Programs) -> Result<Self, ConfirmError> {
        static SWEPT: Once = Once::new();
        let all = std::env::temp_dir();
        SWEPT.call_once(|| orphans::sweep(&all));
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = all.join(orphans::name(process::id(), number));
            if path.exists() {
                continue;
            }
            // Before the folder, so that there is no moment at which nobody would delete it.
            let janitor = janitor(programs, &path)?;
            if let Some(lock) = orphans::create(&path).map_err(ConfirmError::Folder)? {
                return Ok(Self {
                    path,
                    _lock: lock,
                    _janitor: janitor,
                });
            }
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder of a host, in which its server keeps its files.
    pub(super) fn of_host(&self, host: &Name) -> io::Result<PathBuf> {
        let path = self.path.join(&**host);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error cannot be reported here.
        let _ = orphans::delete(&self.path);
    }
}

/// Starts the process that deletes this folder when this process has ended.
fn janitor(programs: &Programs, folder: &Path) -> Result<Child, ConfirmError> {
    let who = ProcessId {
        host: "janitor".into(),
        start: 1,
    };
    let job = Job {
        bench: process::id(),
        role: Role::Janitor {
            folder: folder.into(),
        },
    };
    // Nobody waits for what a janitor says.
    let collector = Collector::new(mpsc::channel().0, Kept::of(&Clients::Own).into());
    let child = Child::start(&programs.locklab, &job, who.clone(), collector);
    child.map_err(|source| ConfirmError::Start {
        host: who.host,
        source,
    })
}
