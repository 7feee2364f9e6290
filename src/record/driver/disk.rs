//! How long it takes until a small append is on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RecordError;
use super::clocks::monotonic_ns;
use super::pace::{Pace, Until};
use locklab_values::units::fractional_ms_from_ns;

/// Ten a second.
const PERIOD: Duration = Duration::from_millis(100);

/// About as much as `SET lock token NX PX 10000` takes in an append-only file.
const APPEND: [u8; 128] = [b'.'; 128];

/// A file that is removed in the end.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    path: PathBuf,
}

impl Disk {
    /// Creates a file in this folder.
    pub(super) fn open(folder: &Path) -> Result<Disk, RecordError> {
        let path = folder.join(format!("locklab-record-{}", std::process::id()));
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(|source| RecordError::Disk {
            folder: folder.into(),
            source,
        })?;
        Ok(Disk { file, path })
    }

    /// Appends and syncs until the end; returns how long each sync took, in milliseconds.
    pub(super) fn sync(mut self, until: Until<'_>) -> Vec<f64> {
        let mut pace = Pace::every(PERIOD);
        let mut all_ms = Vec::new();
        while !until.is_over() {
            // A full disk ends the measurement; what was measured before is kept.
            let Ok(ms) = self.append() else {
                break;
            };
            all_ms.push(ms);
            pace.wait(&until);
        }
        all_ms
    }

    fn append(&mut self) -> io::Result<f64> {
        self.file.write_all(&APPEND)?;
        let before_ns = monotonic_ns();
        self.file.sync_data()?;
        Ok(fractional_ms_from_ns(monotonic_ns() - before_ns))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // If it is gone already, nothing is left to do.
        let _ = fs::remove_file(&self.path);
    }
}
