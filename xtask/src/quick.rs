//! The checks of what was changed: the format, the rules of `tidy`, the unit tests of the changed crates,
//! the changed tests, and those that catch the mistakes planted in the changed files. The planted mistakes say which test notices
//! what, so that no other table has to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::binary::Binary;
use crate::plants::{Catcher, Plant, SCENARIO, SEEDS};
use crate::source::{self, File, package_in};
use crate::tool::{cargo, git, perform};
use crate::{format, plants, tidy};

/// The runs of a scenario, in debug.
const RUNS: &str = "10";

/// Checks these crates, by folder or name (`locks`, `sim/redis`, `locklab-check`); without one, those that differ from
/// the last commit, or if none does, those that the last commit changed.
pub fn run(crates: &[String]) -> Result<()> {
    let files = source::files()?;
    let folders: BTreeSet<&str> = files.iter().filter_map(|file| folder(&file.path)).collect();
    let changed: Vec<String> = match crates {
        [] => changed()?,
        named => {
            let mut chosen = Vec::new();
            for name in named {
                let folder = chosen_by(name, &folders)
                    .with_context(|| format!("no crate is called {name}: {folders:?}"))?;
                let within = |path: &&str| Path::new(path).starts_with(folder);
                let paths = files.iter().map(|file| &*file.path).filter(within);
                chosen.extend(paths.map(str::to_owned));
            }
            chosen
        }
    };
    let all = plants::all(&files)?;
    let checks = checks(&changed, &files, &all)?;
    println!("==> format, tidy");
    format::run(true)?;
    tidy::run()?;
    let mut failed = Vec::new();
    for (binary, wanted) in &checks {
        if let Err(error) = perform_one(binary, wanted) {
            failed.push(format!("{error:#}"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    println!("quick: {} binaries of tests pass", checks.len());
    Ok(())
}

/// What of a binary is run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// All of it.
    whole: bool,
    /// The tests whose names contain one of these.
    filters: BTreeSet<String>,
    scenarios: BTreeSet<String>,
}

/// The checks of these files: the unit tests of their crates, the tests that they are in, and whatever catches a mistake in one of them.
fn checks(
    changed: &[String],
    files: &[File],
    plants: &[Plant],
) -> Result<BTreeMap<Binary, Wanted>> {
    let mut checks: BTreeMap<Binary, Wanted> = BTreeMap::new();
    let crates: BTreeSet<&str> = changed.iter().filter_map(|path| folder(path)).collect();
    for folder in crates {
        let package = package_in(folder, files)?;
        checks.entry(Binary::new(&package, None)).or_default().whole = true;
    }
    for (package, test) in changed.iter().filter_map(|path| test_of(path, files)) {
        let package = match package {
            "" => "locklab".to_owned(),
            folder => package_in(folder, files)?,
        };
        checks
            .entry(Binary::new(&package, Some(test)))
            .or_default()
            .whole = true;
    }
    for plant in plants.iter().filter(|plant| changed.contains(&plant.file)) {
        for catcher in plant.caught_by()? {
            let wanted = checks.entry(catcher.binary()).or_default();
            match catcher {
                Catcher::Scenario(name) => wanted.scenarios.insert(name),
                Catcher::Test(_, filter) => wanted.filters.insert(filter),
            };
        }
    }
    Ok(checks)
}

fn perform_one(binary: &Binary, wanted: &Wanted) -> Result<()> {
    // The chores are a program, without a library.
    let binary = binary.to_string().replace("xtask --lib", "xtask --bins");
    let line = format!("test --quiet --package {binary}");
    if !wanted.scenarios.is_empty() {
        let names: Vec<&str> = wanted.scenarios.iter().map(String::as_str).collect();
        println!("==> {} scenarios", names.len());
        let mut command = cargo(&line);
        command.env(SCENARIO, names.join(" ")).env(SEEDS, RUNS);
        perform(command)?;
    }
    if wanted.whole || !wanted.filters.is_empty() {
        let mut command = cargo(&line);
        println!("==> cargo {line}");
        if !wanted.whole {
            command.arg("--").args(&wanted.filters);
        }
        perform(command)?;
    }
    Ok(())
}

/// The files that differ from the last commit, or if none does, those that it changed.
fn changed() -> Result<Vec<String>> {
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let mut paths = lines(git(&["diff", "--name-only", "HEAD"])?);
    paths.extend(lines(git(&["ls-files", "--others", "--exclude-standard"])?));
    if paths.is_empty() {
        paths = lines(git(&["diff", "--name-only", "HEAD~1", "HEAD"])?);
    }
    Ok(paths)
}

/// The folder of the crate of a source file: `src/locks`, `sim/world`, `xtask`.
fn folder(path: &str) -> Option<&str> {
    let depth = match path.split('/').next()? {
        "src" | "sim" => 2,
        "xtask" => 1,
        _ => return None,
    };
    let (end, _) = path.match_indices('/').nth(depth - 1)?;
    Some(&path[..end])
}

fn chosen_by<'a>(name: &str, folders: &BTreeSet<&'a str>) -> Option<&'a str> {
    let name = name.trim_start_matches("locklab-").trim_end_matches('/');
    let is_it = |folder: &&&str| **folder == name || folder.rsplit('/').next() == Some(name);
    folders.iter().find(is_it).copied()
}

/// The binary of tests that a file belongs to: the folder of its crate, which is empty for the root, and its name.
/// `tests/claims.rs` is in `claims` of the root, `src/locks/tests/locks/redlock.rs` in `locks` of `src/locks`.
fn test_of<'a>(path: &'a str, files: &[File]) -> Option<(&'a str, &'a str)> {
    let folder = folder(path).unwrap_or_default();
    let inner = path.strip_prefix(folder)?.trim_start_matches('/');
    let inner = inner.strip_prefix("tests/")?;
    let (name, main) = match inner.split_once('/') {
        Some((name, _)) => (name, format!("tests/{name}/main.rs")),
        None => (inner.strip_suffix(".rs")?, format!("tests/{inner}")),
    };
    let main = match folder {
        "" => main,
        folder => format!("{folder}/{main}"),
    };
    files
        .iter()
        .any(|file| file.path == main)
        .then_some((folder, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_checked_by_what_catches_its_mistakes() {
        let files = source::files_below("..").expect("this is a checkout");
        let all = plants::all(&files).expect("they are valid");
        let plant = |name: &str| {
            all.iter()
                .find(|plant| plant.name == name)
                .expect("it is planted")
        };
        let file = plant("unique-ignores-index").file.clone();
        let changed = [file, "tests/claims.rs".to_owned()];
        let checks = checks(&changed, &files, &all).expect("its crate is known");
        assert!(checks[&Binary::new("locklab", Some("claims"))].whole);
        assert!(checks[&Binary::new("locklab-locks", None)].whole);
        let catchers = plant("unique-ignores-index").caught_by().expect("some");
        let Some(Catcher::Test(binary, filter)) = catchers.first() else {
            panic!("a test catches it");
        };
        assert!(checks[binary].filters.contains(filter));
    }

    #[test]
    fn a_crate_is_a_folder() {
        assert_eq!(folder("src/locks/redlock.rs"), Some("src/locks"));
        assert_eq!(folder("xtask/src/main.rs"), Some("xtask"));
        assert_eq!(folder("docs/faults.md"), None);
        assert_eq!(folder("src/lib.rs"), None);
        let file = |path: &str| File::new(path.to_owned(), String::new());
        let files = ["tests/claims.rs", "src/locks/tests/locks/main.rs"].map(file);
        assert_eq!(test_of("tests/claims.rs", &files), Some(("", "claims")));
        let inner = test_of("src/locks/tests/locks/redlock.rs", &files);
        assert_eq!(inner, Some(("src/locks", "locks")));
        assert_eq!(test_of("tests/clients/redsync/main.go", &files), None);
        let folders = BTreeSet::from(["sim/redis", "src/locks"]);
        assert_eq!(chosen_by("locklab-redis", &folders), Some("sim/redis"));
        assert_eq!(chosen_by("src/locks/", &folders), Some("src/locks"));
        assert_eq!(chosen_by("lock", &folders), None);
    }
}
