//! A copy of the tree in which the switches are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source::{self, File};

/// Writes the files of the repository into this folder, except those of `changed`, which have that text. A file that
/// is as it should be stays untouched, so that Cargo builds only what has changed. Returns the
/// absolute path of the copy.
pub fn write(folder: &str, files: &[File], changed: &BTreeMap<String, String>) -> Result<PathBuf> {
    let tree = Path::new(folder);
    fs::create_dir_all(tree).with_context(|| format!("create {folder}"))?;
    let texts: BTreeMap<&str, &str> = files.iter().map(|f| (&*f.path, &*f.text)).collect();
    let mut wanted = BTreeSet::new();
    for path in source::listed_below(".")? {
        let place = tree.join(&path);
        if let Ok(target) = fs::read_link(&path) {
            link(&place, &target)?;
        } else if Path::new(&path).is_file() {
            let bytes = match (changed.get(&path), texts.get(&*path)) {
                (Some(text), _) => text.as_bytes().to_vec(),
                (None, Some(text)) if path == "Cargo.toml" => without_warnings(text).into_bytes(),
                (None, Some(text)) => text.as_bytes().to_vec(),
                (None, None) => fs::read(&path).with_context(|| format!("read {path}"))?,
            };
            update(&place, &bytes)?;
        } else {
            continue;
        }
        wanted.insert(place);
    }
    for (path, text) in changed {
        if wanted.insert(tree.join(path)) {
            update(&tree.join(path), text.as_bytes())?;
        }
    }
    remove_others(tree, &wanted)?;
    fs::canonicalize(tree).with_context(|| format!("find {folder}"))
}

/// The manifest of the workspace without warnings: switches leave needless braces, and mistakes
/// leave things unused, or calculate what does not fit.
fn without_warnings(manifest: &str) -> String {
    let (table, silent) = (
        "[workspace.lints.rust]\n",
        "warnings = { level = \"allow\", priority = -1 }\narithmetic_overflow = \"allow\"\n\
         unconditional_panic = \"allow\"\n",
    );
    manifest.replace(table, &format!("{table}{silent}"))
}

/// Writes a file unless it has these bytes.
fn update(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .with_context(|| format!("write {}", path.display()))
}

/// Makes a symbolic link unless it is there.
fn link(path: &Path, target: &Path) -> Result<()> {
    if fs::read_link(path).is_ok_and(|there| there == target) {
        return Ok(());
    }
    let _ = fs::remove_file(path);
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| symlink(target, path))
        .with_context(|| format!("link {}", path.display()))
}

/// Removes the files that are not wanted, such as those that have moved.
fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            remove_others(&path, wanted)?;
            // Fails, as it should, unless the folder is empty.
            let _ = fs::remove_dir(&path);
        } else if !wanted.contains(&path) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_only_if_it_differs() {
        let folder = std::env::temp_dir().join(format!("locklab-tree-{}", std::process::id()));
        let path = folder.join("a/b");
        update(&path, b"one").expect("written");
        let before = fs::metadata(&path)
            .and_then(|m| m.modified())
            .expect("there");
        update(&path, b"one").expect("left alone");
        let after = fs::metadata(&path)
            .and_then(|m| m.modified())
            .expect("there");
        assert_eq!(before, after);
        update(&path, b"two").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"two");

        update(&folder.join("c/d"), b"old").expect("written");
        link(&folder.join("linked"), Path::new("a")).expect("linked");
        let wanted = BTreeSet::from([path.clone(), folder.join("linked")]);
        remove_others(&folder, &wanted).expect("removed");
        assert!(path.exists());
        assert_eq!(fs::read(folder.join("linked/b")).expect("there"), b"two");
        assert!(!folder.join("c").exists());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
