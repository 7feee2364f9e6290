//! Output files of commands: written completely or not at all.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Creates the folder if it does not exist, checks that it is writable before any work is done, and removes what
    /// commands that were killed have left in it.
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
        let probe = folder.join(beside("probe"));
        fs::write(&probe, "").with_context(advice)?;
        fs::remove_file(&probe).with_context(advice)?;
        sweep(folder);
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
        let beside = self.path(&beside(name));
        let advice = || {
            let path = path.display();
            format!("cannot write {path}; make room for it, or choose another folder with --out")
        };
        let written = fs::write(&beside, contents).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            // Remove an incomplete file. The first error is the one that counts.
            let _ = fs::remove_file(&beside);
        }
        written.with_context(advice)?;
        Ok(path)
    }
}

/// How the name of each temporary file begins.
const PREFIX: &str = ".locklab-";

/// A temporary file lives for the moment of a write. One of this age is left over, whichever machine has made it.
const LEFT_OVER: Duration = Duration::from_secs(60);

/// The name of the temporary file that becomes `name`. The process id is in it, since another process may write the same
/// file.
pub fn beside(name: &str) -> String {
    format!("{PREFIX}{}-{name}", std::process::id())
}

/// Removes the temporary files of commands that were killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left_over(&entry) {
            // No result depends on it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left_over(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let number = name
        .to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
    let is_ours = number.is_some_and(|(process, _)| process.parse::<u32>().is_ok());
    let written = entry.metadata().ok().filter(fs::Metadata::is_file);
    let age = written.and_then(|it| it.modified().ok()?.elapsed().ok());
    is_ours && age.is_some_and(|age| age >= LEFT_OVER)
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
    fn what_a_killed_command_has_left_is_removed_and_nothing_else() {
        let name = format!("locklab-store-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("it is new");
        let write = |name: &str, age: Duration| {
            let file = fs::File::create(folder.join(name)).expect("it is written");
            let at = std::time::SystemTime::now() - age;
            file.set_modified(at).expect("it is ours");
        };
        write(".locklab-12-run.svg", 2 * LEFT_OVER);
        write(".locklab-13-run.svg", Duration::ZERO);
        for name in [
            ".locklab-notes",
            ".locklab-x-run.svg",
            "run.svg",
            ".run.svg",
        ] {
            write(name, 2 * LEFT_OVER);
        }
        let store = Store::at(&folder, &[]).expect("it is writable");
        // In the place of a folder no file can be written.
        fs::create_dir(folder.join("taken")).expect("it is new");
        let error = store.write("taken", b"text").map(drop).unwrap_err();
        assert!(error.to_string().contains("--out"), "{error}");
        let left = fs::read_dir(&folder).expect("it is there").flatten();
        let mut left: Vec<String> = { left }
            .map(|it| it.file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        let expected = [
            ".locklab-13-run.svg",
            ".locklab-notes",
            ".locklab-x-run.svg",
            ".run.svg",
            "run.svg",
            "taken",
        ];
        assert_eq!(left, expected);
        fs::remove_dir_all(&folder).expect("it is ours");
    }

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
