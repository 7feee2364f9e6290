//! The tests of the workspace, several binaries at a time: in debug, but for those that simulate
//! much, which take a quarter of the time in release.
//!
//! `cargo test` runs one test binary after the other. Some of them mostly wait: for real servers,
//! for timers, for a browser. Here they wait beside those that compute.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use std::{env, thread};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tool::{PRODUCT, build_in, patient, perform};
use crate::{plants, release};

/// Test binaries that take long although they compute little: they wait for real servers and programs. They start
/// first, and the others give way to them.
const WAITING: &[&str] = &[
    "agreement",
    "attack",
    "soak",
    "parity",
    "confirm",
    "ground_truth_real",
    "injectors",
    "late_starts",
    "real",
    "sentinel",
    "serve",
    "server",
    "sockets",
    "cli",
    "page",
];

/// The test binaries that run beside the one for each core.
const BESIDE: usize = 1;

/// A test binary as cargo has built it.
#[derive(Debug, PartialEq, Eq)]
struct Binary {
    /// The package and the target: `locklab cli`.
    name: String,
    /// Where its tests expect to run.
    folder: PathBuf,
    executable: PathBuf,
}

impl Binary {
    fn target(&self) -> &str {
        self.name.rsplit(' ').next().unwrap_or_default()
    }

    fn waits(&self) -> bool {
        WAITING.iter().any(|name| self.target().ends_with(name))
    }
}

fn simulates_much(target: &str) -> bool {
    release::TESTS.contains(&target)
}

/// Where tests are built.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// In the workspace.
    Here,
    /// In its copy with planted mistakes, all of them switched off.
    Copy,
}

impl Place {
    /// A patient command of cargo that builds here.
    fn cargo(self, line: &str) -> Result<Command> {
        let mut cargo = cargo(line);
        if let Place::Copy = self {
            build_in(&plants::copy()?, &mut cargo)?;
        }
        Ok(cargo)
    }
}

/// Runs the test binaries in debug, but for those that simulate much, and then the doc tests.
///
/// # Errors
///
/// If something does not compile, or the tests that failed, with what they printed.
pub fn run(place: Place) -> Result<()> {
    // The small build first: while the large one goes on, no other process can begin to build here, and make the
    // tests wait.
    let mut binaries = build(cargo("test --package xtask --no-run"))?;
    binaries.extend(build(place.cargo(&debug()?)?)?);
    execute_all(binaries)?;
    let doc_tests = format!("test --quiet {PRODUCT} --doc");
    let status = place.cargo(&doc_tests)?.status();
    let status = status.context("cargo did not start")?;
    ensure!(status.success(), "doc tests: {status}");
    Ok(())
}

/// Builds the test binaries in debug, and `target/debug/locklab`.
///
/// # Errors
///
/// If something does not compile.
pub fn build_debug(place: Place) -> Result<()> {
    perform(place.cargo(&debug()?)?)
}

/// Runs the test binaries that simulate much, in release.
///
/// # Errors
///
/// If something does not compile, or the tests that failed, with what they printed.
pub fn run_in_release() -> Result<()> {
    execute_all(build(cargo(&release::tests()))?)
}

/// Runs the same in debug, with its assertions and its checked arithmetic.
///
/// # Errors
///
/// If something does not compile, or the tests that failed, with what they printed.
pub fn run_release_tests_in_debug() -> Result<()> {
    let mut binaries = build(cargo(&format!("test {PRODUCT} --no-run")))?;
    binaries.retain(|binary| simulates_much(binary.target()));
    execute_all(binaries)
}

/// Runs test binaries, several at a time.
fn execute_all(binaries: Vec<Binary>) -> Result<()> {
    let mut waiting = VecDeque::from(binaries);
    ensure!(!waiting.is_empty(), "there are no tests");
    waiting.make_contiguous().sort_by_key(|it| !it.waits());
    let waiting = Mutex::new(waiting);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || {
            while let Some(binary) = { waiting.lock().expect("no test panics here").pop_front() } {
                let start = Instant::now();
                let output = execute(&binary);
                let seconds = start.elapsed().as_secs_f64();
                let (line, complaint) = outcome(&binary.name, output);
                println!("{line} ({seconds:.1} s)");
                failed
                    .lock()
                    .expect("no test panics here")
                    .extend(complaint);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from) + BESIDE;
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let failed = failed.into_inner().expect("no test panics here");
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// The command line of cargo that builds the tests in debug, but for those that simulate much, and
/// `target/debug/locklab`.
fn debug() -> Result<String> {
    let names = test_targets()?.into_iter().map(|(_, name)| name);
    let names: BTreeSet<String> = names.filter(|name| !simulates_much(name)).collect();
    let names: String = names.iter().map(|name| format!(" --test {name}")).collect();
    Ok(format!("test {PRODUCT} --no-run --lib --bins{names}"))
}

/// All integration tests, each with its package.
///
/// # Errors
///
/// If cargo does not say.
pub fn test_targets() -> Result<BTreeSet<(String, String)>> {
    let metadata = cargo("metadata --no-deps --format-version 1").output();
    let metadata = metadata.context("cargo did not start")?.stdout;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo's metadata")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let named = packages.flat_map(|package| {
        let targets = package["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        tests.map(|target| [&package["name"], &target["name"]].map(|it| it.as_str()))
    });
    let names = named.filter_map(|[package, test]| Some((package?.to_owned(), test?.to_owned())));
    Ok(names.collect())
}

fn cargo(line: &str) -> Command {
    let mut command = patient(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(line.split(' '));
    command
}

/// Builds the test binaries that this command of cargo selects.
fn build(mut cargo: Command) -> Result<Vec<Binary>> {
    let built = cargo
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo did not start")?;
    if !built.status.success() {
        bail!("the tests do not compile: {}", built.status);
    }
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    messages
        .lines()
        .filter_map(|line| binary(line).transpose())
        .collect()
}

/// The test binary that a message of cargo is about.
fn binary(message: &str) -> Result<Option<Binary>> {
    let message: Value = serde_json::from_str(message).context("cargo's messages")?;
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let is_test = message.pointer("/profile/test").and_then(Value::as_bool) == Some(true);
    let (Some(executable), Some(manifest), Some(target), true) = (
        text("/executable"),
        text("/manifest_path"),
        text("/target/name"),
        is_test,
    ) else {
        return Ok(None);
    };
    let manifest = PathBuf::from(manifest);
    let folder = manifest.parent().context("a manifest is in a folder")?;
    let package = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(Binary {
        name: format!("{package} {target}"),
        folder: folder.to_owned(),
        executable: executable.into(),
    }))
}

fn execute(binary: &Binary) -> Result<Output> {
    let mut command = match binary.waits() {
        true => Command::new(&binary.executable),
        false => patient(&binary.executable),
    };
    command
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} did not start", binary.executable.display()))
}

/// A line on a binary that has run, and what it printed if it failed.
fn outcome(name: &str, output: Result<Output>) -> (String, Option<String>) {
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return (
                format!("{name}: failed"),
                Some(format!("{name}: {error:#}")),
            );
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let results: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("test result:"))
        .collect();
    // A binary of tests says what came of them; one that ends without a word has not run them.
    if output.status.success() && !results.is_empty() {
        return (format!("{name}: {}", results.join(" ")), None);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let complaint = format!("{name}: {}\n{printed}\n{errors}", output.status);
    (format!("{name}: failed"), Some(complaint))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn output(code: i32, printed: &str) -> Result<Output> {
        Ok(Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: printed.into(),
            stderr: b"a warning".to_vec(),
        })
    }

    #[test]
    fn only_test_binaries_are_taken_from_cargos_messages() {
        let artifact = |test: bool, executable: &str| {
            format!(
                r#"{{"reason": "compiler-artifact", "manifest_path": "/x/src/cli/Cargo.toml",
                     "target": {{"name": "locklab_cli"}}, "profile": {{"test": {test}}},
                     "executable": {executable}}}"#
            )
        };
        let found = binary(&artifact(true, r#""/x/target/a""#)).expect("a message");
        let expected = Binary {
            name: "cli locklab_cli".into(),
            folder: "/x/src/cli".into(),
            executable: "/x/target/a".into(),
        };
        assert_eq!(expected.target(), "locklab_cli");
        assert_eq!(found, Some(expected));
        for other in [
            artifact(false, r#""/x/target/a""#),
            artifact(true, "null"),
            r#"{"reason": "build-finished", "success": true}"#.into(),
        ] {
            assert_eq!(binary(&other).expect("a message"), None, "{other}");
        }
        assert!(binary("no JSON").is_err());
    }

    #[test]
    fn tests_of_the_release_lane_are_not_built_in_debug() {
        let line = debug().expect("cargo knows the tests");
        let builds = |name: &str| line.split(" --test ").any(|built| built == name);
        for name in release::TESTS {
            assert!(!builds(name), "{name}: {line}");
        }
        for name in ["agreement", "parity", "sockets"] {
            assert!(builds(name), "{name}: {line}");
        }
    }

    #[test]
    fn every_test_that_waits_exists() {
        let known = test_targets().expect("cargo knows the tests");
        for name in WAITING {
            assert!(known.iter().any(|(_, test)| test == name), "{name}");
        }
    }

    #[test]
    fn a_binary_that_passes_is_one_line() {
        let passed = output(
            0,
            "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed\n",
        );
        let expected = "x: test result: ok. 2 passed; 0 failed".to_owned();
        assert_eq!(outcome("x", passed), (expected, None));
    }

    #[test]
    fn a_binary_that_fails_or_runs_nothing_is_shown_with_its_output() {
        for (code, printed) in [(101, "test result: FAILED. 1 failed"), (0, "nothing")] {
            let (line, complaint) = outcome("x", output(code, printed));
            assert_eq!(line, "x: failed");
            let complaint = complaint.expect("it failed");
            assert!(complaint.contains(printed) && complaint.contains("a warning"));
        }
        let (_, complaint) = outcome("x", Err(anyhow::anyhow!("no such file")));
        assert!(complaint.expect("it failed").contains("no such file"));
    }
}
