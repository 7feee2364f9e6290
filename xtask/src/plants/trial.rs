//! Builds the copy of the tree, and tries whether the catchers catch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::data::{Binary, Catcher, Plant};
use super::switch::VARIABLE;
use crate::tool::{PRODUCT, cargo_in};

/// The environment variable with the scenarios that `tests/plants/main.rs` runs.
pub const SCENARIO: &str = "LOCKLAB_PLANT_SCENARIO";

/// The environment variable with another number of runs of each scenario.
pub const SEEDS: &str = "LOCKLAB_PLANT_SEEDS";

/// A trial that takes longer is named with its time.
const SLOW_S: f64 = 20.0;

/// The folder in which catchers run. A random test that fails saves its case below it.
const WORK: &str = "target/plants/work";

/// How it is shown that a catcher fails because of the mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// It passes in the copy without any mistake.
    Passes,
    /// It exists in the copy. That it passes, other steps of CI show: in the copy, and in the tree in release.
    Exists,
}

/// The packages that Cargo gets. The features of the dependencies follow from them, so that another choice may
/// compile most crates anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packages {
    /// Those of the tests, of which CI has built the same copy.
    AsTests,
    /// Those of the catchers, and the one that depends on all others: a few unit tests less to build.
    OfCatchers,
}

/// The number of trials beside the one for each core. Some wait, such as for bytes that never arrive.
const BESIDE: usize = 1;

/// A catcher, and the mistake with which it runs, or none.
type Trial<'a> = (Option<&'a Plant>, Catcher);

/// Runs the catchers of these mistakes, each with its mistake, and the control of the catchers of those; returns
/// what is not as it should be, a line each.
///
/// # Errors
///
/// If the copy cannot be built, or a catcher not be started.
pub fn run(
    plants: &[&Plant],
    controlled: &[&Plant],
    control: Control,
    packages: Packages,
    tree: &Path,
) -> Result<Vec<String>> {
    let caught_by = |plant: &Plant| -> Result<Vec<Catcher>> {
        let mut catchers = plant.caught_by()?;
        if control == Control::Exists {
            // CI has the time for one.
            catchers.truncate(1);
        }
        Ok(catchers)
    };
    let mut catchers: BTreeSet<Catcher> = BTreeSet::new();
    for plant in controlled {
        catchers.extend(caught_by(plant)?);
    }
    let mut mistaken: Vec<Trial> = Vec::new();
    for &plant in plants {
        let caught_by = caught_by(plant)?.into_iter();
        mistaken.extend(caught_by.map(|catcher| (Some(plant), catcher)));
    }
    let binaries = build(&catchers, packages, tree)?;
    fs::create_dir_all(WORK).with_context(|| format!("create {WORK}"))?;
    let sound = catchers.into_iter().map(|catcher| (None, catcher));
    let trials: Vec<Trial> = sound.chain(mistaken).collect();
    let wrong = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some((plant, catcher)) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let passes = match plant {
                None if control == Control::Exists => exists(catcher, &binaries)?,
                _ => passes(catcher, *plant, &binaries)?,
            };
            let (name, seconds) = (plant.map(|it| &*it.name), start.elapsed().as_secs_f64());
            if seconds > SLOW_S {
                let name = name.unwrap_or("without any mistake");
                println!("{name}: {seconds:.0} s in {}", show(catcher));
            }
            let complaint = match plant {
                None if !passes && control == Control::Exists => {
                    format!("nothing catches: {} does not exist", show(catcher))
                }
                None if !passes => format!("fails without any mistake: {}", show(catcher)),
                Some(Plant { name, what, .. }) if passes => {
                    format!("{name} survives {}: {what}", show(catcher))
                }
                _ => continue,
            };
            println!("{complaint}");
            wrong.lock().expect("nobody panics here").push(complaint);
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from) + BESIDE;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.expect("nobody panics here"))
    })?;
    Ok(wrong.into_inner().expect("nobody panics here"))
}

/// Whether the catcher passes with this mistake.
fn passes(
    catcher: &Catcher,
    plant: Option<&Plant>,
    binaries: &BTreeMap<Binary, PathBuf>,
) -> Result<bool> {
    let binary = &binaries[&binary(catcher)];
    let mut command = Command::new(binary);
    match catcher {
        Catcher::Scenario(name) => command.env(SCENARIO, name),
        Catcher::Test(_, filter) => command.arg(filter),
    };
    command.current_dir(WORK);
    command.env_remove(VARIABLE);
    command.envs(plant.map(|plant| (VARIABLE, &plant.name)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status();
    let status = status.with_context(|| format!("start {}", binary.display()))?;
    Ok(status.success())
}

/// Whether the copy has the catcher: the scenario can be run, or the filter matches a test.
fn exists(catcher: &Catcher, binaries: &BTreeMap<Binary, PathBuf>) -> Result<bool> {
    let mut command = Command::new(&binaries[&binary(catcher)]);
    match catcher {
        Catcher::Scenario(name) => command.env(SCENARIO, name).env(SEEDS, "1"),
        Catcher::Test(_, filter) => command.args([filter, "--list"]),
    };
    let said = command.current_dir(WORK).env_remove(VARIABLE).output();
    let said = said.with_context(|| format!("start the catcher {}", show(catcher)))?;
    let has_test = || said.stdout.windows(6).any(|bytes| bytes == b": test");
    Ok(said.status.success() && (matches!(catcher, Catcher::Scenario(_)) || has_test()))
}

/// The binary that a catcher runs: for a scenario `tests/plants/main.rs`.
fn binary(catcher: &Catcher) -> Binary {
    match catcher {
        Catcher::Scenario(_) => Binary {
            package: "locklab".to_owned(),
            test: Some("plants".to_owned()),
        },
        Catcher::Test(binary, _) => binary.clone(),
    }
}

/// The command that runs a catcher alone.
fn show(catcher: &Catcher) -> String {
    match catcher {
        Catcher::Scenario(name) => format!("scenario {name}"),
        Catcher::Test(Binary { package, test }, filter) => {
            let test = test.as_ref().map(|test| format!("--test {test}"));
            let test = test.unwrap_or_else(|| "--lib".to_owned());
            format!("cargo test --package {package} {test} {filter}")
        }
    }
}

/// The package that depends on all others.
const ALL: &str = "locklab";

/// Builds the binaries of these catchers in the copy; returns their paths.
fn build(
    catchers: &BTreeSet<Catcher>,
    packages: Packages,
    tree: &Path,
) -> Result<BTreeMap<Binary, PathBuf>> {
    let wanted: BTreeSet<Binary> = catchers.iter().map(binary).collect();
    // Apart, since with `--lib` cargo builds the unit tests of every package that it gets.
    let (unit_tests, integration_tests): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|binary| binary.test.is_none());
    let mut found = BTreeMap::new();
    for wanted in [unit_tests, integration_tests] {
        if !wanted.is_empty() {
            found.append(&mut build_together(&wanted, packages, tree)?);
        }
    }
    for binary in &wanted {
        ensure!(found.contains_key(binary), "cargo built no {binary:?}");
    }
    Ok(found)
}

/// Builds these binaries, in one call of cargo.
fn build_together(
    wanted: &[&Binary],
    packages: Packages,
    tree: &Path,
) -> Result<BTreeMap<Binary, PathBuf>> {
    let line = "test --no-run --message-format json-render-diagnostics";
    let mut command = cargo_in(tree, line)?;
    match packages {
        Packages::AsTests => {
            command.args(PRODUCT.split(' '));
        }
        Packages::OfCatchers => {
            for package in wanted.iter().map(|binary| &*binary.package).chain([ALL]) {
                command.args(["--package", package]);
            }
        }
    }
    let tests: BTreeSet<Option<&str>> = wanted.iter().map(|b| b.test.as_deref()).collect();
    for test in tests {
        match test {
            Some(test) => command.args(["--test", test]),
            None => command.arg("--lib"),
        };
    }
    let built = command.stderr(Stdio::inherit()).output();
    let built = built.context("start cargo")?;
    if !built.status.success() {
        bail!("{} does not compile; it has the switches", tree.display());
    }
    let said = String::from_utf8_lossy(&built.stdout);
    Ok(said.lines().filter_map(executable).collect())
}

/// The binary of tests of which this line of Cargo's tells.
pub fn executable(line: &str) -> Option<(Binary, PathBuf)> {
    #[derive(Deserialize)]
    struct Artifact {
        package_id: String,
        target: Target,
        profile: Profile,
        executable: PathBuf,
    }
    #[derive(Deserialize)]
    struct Target {
        kind: Vec<String>,
        name: String,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    // `path+file:///folder#1.0.0` if the folder has the package's name, else `…#name@1.0.0`.
    let (folder, version) = artifact.package_id.rsplit_once('#')?;
    let package = match version.split_once('@') {
        Some((name, _)) => name,
        None => folder.rsplit('/').next()?,
    };
    let test = match artifact.target.kind.first()?.as_str() {
        "test" => Some(artifact.target.name),
        "lib" => None,
        _ => return None,
    };
    let package = package.to_owned();
    (artifact.profile.test).then_some((Binary { package, test }, artifact.executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, kind: &str, test: bool, expected: Option<(&str, Option<&str>)>) {
        let line = format!(
            r#"{{"reason":"compiler-artifact","package_id":"{id}","target":{{"kind":["{kind}"],
            "name":"t"}},"profile":{{"test":{test}}},"executable":"/x"}}"#
        );
        let binary = |(package, test): (&str, Option<&str>)| Binary {
            package: package.into(),
            test: test.map(str::to_owned),
        };
        let found = executable(&line).map(|(binary, _)| binary);
        assert_eq!(found, expected.map(binary));
    }

    #[test]
    fn binaries_are_told_apart_by_package_and_test() {
        check(
            "path+file:///a/tree#p@0.1.0",
            "test",
            true,
            Some(("p", Some("t"))),
        );
        check("path+file:///a/p#0.1.0", "lib", true, Some(("p", None)));
        check("path+file:///a/p#0.1.0", "bin", true, None);
        check("path+file:///a/p#0.1.0", "bin", false, None);
    }
}
