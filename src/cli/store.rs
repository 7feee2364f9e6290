//! Files that commands write: whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder for results that can be written to.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder if need be, and makes sure that it can be written to, before
    /// any work is done for it.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let advice = || {
            format!(
                "cannot write to the folder {}; choose another with --out",
                folder.display()
            )
        };
        fs::create_dir_all(folder).with_context(advice)?;
        let probe = folder.join(".locklab-writes-here");
        fs::write(&probe, "").with_context(advice)?;
        fs::remove_file(&probe).with_context(advice)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The folder of a scenario in this one: `kleppmann/k1` in `kleppmann-k1`.
    pub(super) fn of_scenario(&self, name: &str) -> anyhow::Result<Self> {
        let plain = |c: char| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        };
        Store::open(
            &self
                .folder
                .join(name.chars().map(plain).collect::<String>()),
        )
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file: beside its place first, then into it.
    pub(super) fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        let beside = self.path(&format!(".{name}.part"));
        let advice = || format!("cannot write {}", path.display());
        fs::write(&beside, contents).with_context(advice)?;
        fs::rename(&beside, &path).with_context(advice)?;
        Ok(path)
    }
}
