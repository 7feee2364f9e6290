//! Output files of commands: written completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A writable folder for results.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Creates the folder if it does not exist, and checks that it is writable before any work
    /// is done.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let advice = || {
            format!(
                "cannot write to the folder {}; choose another with --out",
                folder.display()
            )
        };
        fs::create_dir_all(folder).with_context(advice)?;
        // The process id is in the name, since another process may do the same here.
        let probe = folder.join(format!(".locklab-{}", std::process::id()));
        fs::write(&probe, "").with_context(advice)?;
        fs::remove_file(&probe).with_context(advice)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The subfolder for a scenario: `kleppmann-k1` for `kleppmann/k1`.
    pub(super) fn of_scenario(&self, name: &str) -> anyhow::Result<Self> {
        Store::open(&self.folder.join(folder_of(name)))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file: first to a temporary file beside it, which is then renamed.
    pub(super) fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        let beside = self.path(&format!(".{name}.{}", std::process::id()));
        let advice = || format!("cannot write {}", path.display());
        let written = fs::write(&beside, contents).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            // Remove an incomplete file. The first error is the one that counts.
            let _ = fs::remove_file(&beside);
        }
        written.with_context(advice)?;
        Ok(path)
    }
}

/// The name of the folder for this scenario: a single folder, whatever the name.
pub(super) fn folder_of(name: &str) -> String {
    let plain = |c: char| match c {
        '.' | '_' => c,
        c if c.is_alphanumeric() => c,
        _ => '-',
    };
    let folder: String = name.chars().map(plain).collect();
    match folder.trim_matches('.') {
        "" => "unnamed".into(),
        _ => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (name, folder) in [
            ("kleppmann/k1", "kleppmann-k1"),
            ("my own_scenario.v2", "my-own_scenario.v2"),
            ("../../etc", "..-..-etc"),
            ("..", "unnamed"),
            ("", "unnamed"),
        ] {
            assert_eq!(folder_of(name), folder);
        }
    }
}
