//! Output files of commands: written completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::format::Format;
use locklab_report::Sheet;

/// A writable folder for results.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    /// The formats of pictures.
    pub formats: Vec<Format>,
    /// Their paper.
    pub sheet: Sheet,
}

impl Store {
    /// Creates the folder if it does not exist, and checks that it is writable before any work
    /// is done.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn at(folder: &Path, formats: &[Format]) -> anyhow::Result<Self> {
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
            formats: formats.to_vec(),
            sheet: Sheet::SCREEN,
        })
    }

    /// The same folder, with pictures on this paper.
    #[must_use]
    pub fn on(self, sheet: Sheet) -> Self {
        Self { sheet, ..self }
    }

    /// The subfolder of this name.
    pub fn below(&self, name: &str) -> anyhow::Result<Self> {
        let below = Self::at(&self.folder.join(name), &self.formats)?;
        Ok(below.on(self.sheet))
    }

    /// The subfolder for a scenario with these overrides: see `folder_of`.
    pub fn of_scenario(&self, name: &str, overrides: &[String]) -> anyhow::Result<Self> {
        self.below(&folder_of(name, overrides))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file: first to a temporary file beside it, which is then renamed.
    pub fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<PathBuf> {
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

/// The name of the folder for a scenario: a single folder, whatever the name. It is
/// `kleppmann-k1` for `kleppmann/k1`, and `kleppmann-k1-5d1b3f0a` with overrides, of which the
/// digits are a hash: what was run with different parameters never comes to lie side by side.
pub fn folder_of(name: &str, overrides: &[String]) -> String {
    let plain = |c: char| match c {
        '.' | '_' => c,
        c if c.is_alphanumeric() => c,
        _ => '-',
    };
    let folder: String = name.chars().map(plain).collect();
    let folder = match folder.trim_matches('.') {
        "" => "unnamed".into(),
        _ => folder,
    };
    match overrides {
        [] => folder,
        overrides => format!(
            "{folder}-{:08x}",
            xxh3_64(json!(overrides).to_string().as_bytes()) as u32
        ),
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
            assert_eq!(folder_of(name, &[]), folder);
        }
    }

    #[test]
    fn every_set_of_overrides_has_its_folder() {
        let of = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
            folder_of("kleppmann/k1", &sets)
        };
        let (one, other) = (of(&["lock.ttl_ms=500"]), of(&["lock.ttl_ms=501"]));
        assert!(one.starts_with("kleppmann-k1-") && one.len() == "kleppmann-k1-".len() + 8);
        assert_ne!(one, other);
        assert_ne!(of(&["a=1", "b=2"]), of(&["a=1\nb=2"]));
    }
}
