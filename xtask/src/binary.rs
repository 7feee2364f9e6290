//! A binary of tests: how `cargo test` names it, and how it is built.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::tool::cargo_in;

/// Shown as `cargo test --package` takes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binary {
    pub package: String,
    /// The name of an integration test; `None`: the unit tests of the library.
    pub test: Option<String>,
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Some(test) => write!(f, "{} --test {test}", self.package),
            None => write!(f, "{} --lib", self.package),
        }
    }
}

impl Binary {
    pub fn new(package: &str, test: Option<&str>) -> Binary {
        Binary {
            package: package.to_owned(),
            test: test.map(str::to_owned),
        }
    }

    /// Reads `PACKAGE --lib` or `PACKAGE --test NAME`; returns also the words that follow.
    pub fn parse(words: &str) -> Result<(Binary, Vec<&str>)> {
        let words: Vec<&str> = words.split(' ').collect();
        let (package, test, rest) = match words[..] {
            [package, "--lib", ref rest @ ..] => (package, None, rest),
            [package, "--test", test, ref rest @ ..] => (package, Some(test), rest),
            _ => bail!("{words:?} are neither `PACKAGE --lib` nor `PACKAGE --test NAME`"),
        };
        Ok((Binary::new(package, test), rest.to_vec()))
    }
}

/// A binary as cargo has built it.
#[derive(Debug, PartialEq, Eq)]
pub struct Built {
    pub binary: Binary,
    /// Where its tests expect to run.
    pub folder: PathBuf,
    pub executable: PathBuf,
}

/// Builds the binaries of tests that this command of cargo selects.
pub fn build(mut cargo: Command) -> Result<Vec<Built>> {
    let cargo = cargo.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let built = cargo.stderr(Stdio::inherit()).output();
    let built = built.context("cargo did not start")?;
    ensure!(built.status.success(), "it does not compile: {cargo:?}");
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    Ok(messages.lines().filter_map(of_message).collect())
}

/// Builds these binaries in a copy of the tree, in one call of cargo with these words, which select the packages;
/// returns where they are.
pub fn build_in<'a>(
    copy: &Path,
    line: &str,
    wanted: impl IntoIterator<Item = &'a Binary>,
) -> Result<BTreeMap<Binary, PathBuf>> {
    let wanted: BTreeSet<&Binary> = wanted.into_iter().collect();
    let mut command = cargo_in(copy, line)?;
    let tests: BTreeSet<Option<&str>> = wanted.iter().map(|it| it.test.as_deref()).collect();
    for test in tests {
        match test {
            Some(test) => command.args(["--test", test]),
            None => command.arg("--lib"),
        };
    }
    let built = build(command)?.into_iter();
    let mut found: BTreeMap<Binary, PathBuf> = built.map(|it| (it.binary, it.executable)).collect();
    let missing = wanted.iter().find(|it| !found.contains_key(**it));
    ensure!(missing.is_none(), "cargo built no {missing:?}");
    found.retain(|it, _| wanted.contains(it));
    Ok(found)
}

/// The binary of tests of which this line of cargo's tells.
fn of_message(line: &str) -> Option<Built> {
    #[derive(Deserialize)]
    struct Artifact {
        package_id: String,
        manifest_path: PathBuf,
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
    let is_library = artifact.target.kind.first()? == "lib";
    let test = (!is_library).then_some(&*artifact.target.name);
    artifact.profile.test.then_some(Built {
        binary: Binary::new(package, test),
        folder: artifact.manifest_path.parent()?.to_owned(),
        executable: artifact.executable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_told_apart_by_package_and_test() {
        let line = |id: &str, kind: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///a/{id}","target":{{"kind":["{kind}"],
                "name":"t"}},"profile":{{"test":{test}}},"manifest_path":"/a/p/Cargo.toml","executable":{executable}}}"#
            )
        };
        let check = |id: &str, kind: &str, expected: &str| {
            let built = of_message(&line(id, kind, true, "\"/x\"")).expect("it is a test");
            assert_eq!(built.binary.to_string(), expected);
            assert_eq!(
                (built.folder, built.executable),
                ("/a/p".into(), "/x".into())
            );
        };
        check("tree#p@0.1.0", "test", "p --test t");
        check("p#0.1.0", "lib", "p --lib");
        for other in [
            line("p#0.1.0", "bin", false, "\"/x\""),
            line("p#0.1.0", "lib", true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ] {
            assert_eq!(of_message(&other), None, "{other}");
        }
    }
}
