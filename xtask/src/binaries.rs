//! The tests of the workspace, several binaries at a time: in debug, but for those that simulate
//! much, which take a quarter of the time in release.
//!
//! `cargo test` runs one test binary after the other. Some of them mostly wait: for real servers,
//! for timers, for a browser. Here they wait beside those that compute.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::binary::{Binary, Built, build};
use crate::tool::{PRODUCT, build_in, ends_within, parallel, patient, perform, said};
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
    "score",
    "serve",
    "server",
    "servers",
    "sockets",
    "cli",
    "page",
];

/// The test binaries that run beside the one for each core.
const BESIDE: usize = 1;

/// Of a binary of which more tests than this fail, none is repeated.
const REPEATED: usize = 3;

/// The longest that a binary may take, also in a long step: many times as long as any of CI takes.
const LIMIT: Duration = Duration::from_secs(3000);

/// What the binaries print is in this folder.
const OUTPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/locklab/tests");

fn target(built: &Built) -> &str {
    let Binary { package, test } = &built.binary;
    test.as_ref().unwrap_or(package)
}

fn waits(built: &Built) -> bool {
    WAITING.iter().any(|name| target(built).ends_with(name))
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
pub fn run(place: Place) -> Result<()> {
    // The small build first: while the large one goes on, no other process can begin to build here, and make the
    // tests wait.
    let mut binaries = build(cargo("test --package xtask"))?;
    binaries.extend(build(place.cargo(&debug()?)?)?);
    execute_all(binaries)?;
    perform(place.cargo(&format!("test --quiet {PRODUCT} --doc"))?).context("doc tests")
}

/// Builds the test binaries in debug, and `target/debug/locklab`.
pub fn build_debug(place: Place) -> Result<()> {
    build(place.cargo(&debug()?)?).map(drop)
}

/// Runs the test binaries that simulate much, in release.
pub fn run_in_release() -> Result<()> {
    execute_all(build(cargo(&release::tests()))?)
}

/// Runs the same in debug, with its assertions and its checked arithmetic.
pub fn run_release_tests_in_debug() -> Result<()> {
    let mut binaries = build(cargo(&format!("test {PRODUCT}")))?;
    binaries.retain(|binary| simulates_much(target(binary)));
    execute_all(binaries)
}

/// Runs test binaries, several at a time. A few tests of one that [waits](WAITING), which failed beside others, are
/// repeated once, alone: a machine that was busy for seconds is no finding. Of the other binaries nothing is repeated.
fn execute_all(mut binaries: Vec<Built>) -> Result<()> {
    ensure!(!binaries.is_empty(), "there are no tests");
    binaries.sort_by_key(|it| !waits(it));
    let complaints = parallel(&binaries, BESIDE, |built| report(built, &[]));
    let failed = binaries.iter().zip(complaints);
    let failed = failed.filter_map(|(built, complaint)| Some((built, complaint?)));
    let mut lasting = Vec::new();
    for (built, complaint) in failed {
        let names = failures(&complaint);
        if !waits(built) || names.is_empty() || names.len() > REPEATED {
            lasting.push(complaint);
            continue;
        }
        println!("{complaint}\nagain, alone: {}", names.join(" "));
        lasting.extend(report(built, &names));
    }
    ensure!(lasting.is_empty(), "{}", lasting.join("\n"));
    Ok(())
}

/// Runs a binary, or these tests of it one after the other, and says how it ended; returns what to complain of.
fn report(built: &Built, tests: &[&str]) -> Option<String> {
    let start = Instant::now();
    let output = execute(built, tests);
    let seconds = start.elapsed().as_secs_f64();
    let (line, complaint) = outcome(&built.binary.to_string(), output);
    println!("{line} ({seconds:.1} s)");
    complaint
}

/// The tests that failed: the list at the end of what their binary printed.
fn failures(printed: &str) -> Vec<&str> {
    let (_, list) = printed.rsplit_once("\nfailures:\n").unwrap_or_default();
    let names = list.lines().map_while(|line| line.strip_prefix("    "));
    names.collect()
}

/// The command line of cargo that builds the tests in debug, but for those that simulate much, and
/// `target/debug/locklab`.
fn debug() -> Result<String> {
    let names = test_targets()?.into_iter().map(|(_, name)| name);
    let names: BTreeSet<String> = names.filter(|name| !simulates_much(name)).collect();
    let names: String = names.iter().map(|name| format!(" --test {name}")).collect();
    Ok(format!("test {PRODUCT} --lib --bins{names}"))
}

/// All integration tests, each with its package.
pub fn test_targets() -> Result<BTreeSet<(String, String)>> {
    let metadata = said(&mut cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo's metadata")?;
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

/// How a binary ended, `None` if it did not, and what it printed.
type Ran = (Option<ExitStatus>, String);

fn execute(binary: &Built, tests: &[&str]) -> Result<Ran> {
    let mut command = match waits(binary) {
        true => Command::new(&binary.executable),
        false => patient(&binary.executable),
    };
    fs::create_dir_all(OUTPUT).with_context(|| format!("create {OUTPUT}"))?;
    let path = format!(
        "{OUTPUT}/{}.txt",
        binary.binary.to_string().replace(' ', "-")
    );
    // A file, and no pipe: a process that outlives the tests would hold it open.
    let file = File::create(&path).with_context(|| path.clone())?;
    if !tests.is_empty() {
        command.args(["--exact", "--test-threads", "1"]).args(tests);
    }
    command
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .stdin(Stdio::null())
        .stderr(file.try_clone().context("its output")?)
        .stdout(file);
    let status = ends_within(LIMIT, &mut command)?;
    let printed = fs::read(&path).with_context(|| path.clone())?;
    Ok((status, String::from_utf8_lossy(&printed).into_owned()))
}

/// A line on a binary that has run, and what it printed if it failed.
fn outcome(name: &str, ran: Result<Ran>) -> (String, Option<String>) {
    let complaint = match ran {
        Err(error) => format!("{error:#}"),
        Ok((None, printed)) => format!("it has not ended within {LIMIT:?}\n{printed}"),
        Ok((Some(status), printed)) => {
            let results: Vec<&str> = printed
                .lines()
                .filter(|line| line.starts_with("test result:"))
                .collect();
            // A binary of tests says what came of them; one that ends without a word has not run them.
            if status.success() && !results.is_empty() {
                return (format!("{name}: {}", results.join(" ")), None);
            }
            format!("{status}\n{printed}")
        }
    };
    (
        format!("{name}: failed"),
        Some(format!("{name}: {complaint}")),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;

    use super::*;

    fn ran(code: i32, printed: &str) -> Result<Ran> {
        Ok((Some(ExitStatus::from_raw(code << 8)), printed.to_owned()))
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

    /// A binary of tests that fails as often as this: a script.
    fn fails(folder: &Path, test: &str, times: usize) -> Built {
        let executable = folder.join(test);
        let script = format!(
            "#!/bin/sh\necho \"$@\" >>{test}.calls\n[ $(wc -l <{test}.calls) -gt {times} ] && \
             {{ echo 'test result: ok'; exit; }}\nprintf '\\nfailures:\\n    a::b\\n\\ntest result: FAILED\\n'; exit 101\n"
        );
        // By another process: a child of another test may have inherited a file that this one has open, and what is open
        // for writing cannot be executed.
        let mut write = Command::new("sh");
        write.args(["-c", "printf %s \"$1\" >\"$0\" && chmod +x \"$0\""]);
        write.arg(&executable).arg(script);
        perform(write).expect("a script");
        Built {
            binary: Binary::new("repeated", Some(test)),
            folder: folder.to_owned(),
            executable,
        }
    }

    #[test]
    fn a_test_on_real_servers_that_fails_is_repeated_once_and_alone() {
        let folder = env::temp_dir().join(format!("locklab-repeated-{}", std::process::id()));
        for (test, times, passes, calls) in [
            ("attack", 0, true, "\n"),
            ("attack", 1, true, "\n--exact --test-threads 1 a::b\n"),
            ("attack", 2, false, "\n--exact --test-threads 1 a::b\n"),
            // What waits for nothing comes out alike each time.
            ("wire", 1, false, "\n"),
        ] {
            fs::create_dir_all(&folder).expect("a folder");
            let result = execute_all(vec![fails(&folder, test, times)]);
            assert_eq!(result.is_ok(), passes, "{test} {times}: {result:?}");
            let called = fs::read_to_string(folder.join(format!("{test}.calls")));
            assert_eq!(called.expect("it ran"), calls, "{test} {times}");
            fs::remove_dir_all(&folder).expect("it is ours");
        }
    }

    #[test]
    fn the_tests_that_failed_are_read_from_what_a_binary_printed() {
        let printed = "test a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\n    ab\n\n\
                       failures:\n    a::c\n    e\n\ntest result: FAILED. 1 passed; 2 failed\n";
        assert_eq!(failures(printed), ["a::c", "e"]);
        assert!(failures("it has not ended within 3000s\n").is_empty());
    }

    #[test]
    fn a_binary_that_passes_is_one_line() {
        let passed = ran(
            0,
            "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed\n",
        );
        let expected = "x: test result: ok. 2 passed; 0 failed".to_owned();
        assert_eq!(outcome("x", passed), (expected, None));
    }

    #[test]
    fn a_binary_that_fails_runs_nothing_or_does_not_end_is_shown_with_its_output() {
        let failed = "a warning\ntest result: FAILED. 1 failed";
        let hangs = Ok((None, "running 2 tests".to_owned()));
        for (ran, shown) in [
            (ran(101, failed), failed),
            (ran(0, "nothing"), "nothing"),
            (hangs, "not ended within 3000s\nrunning 2 tests"),
            (Err(anyhow::anyhow!("no such file")), "no such file"),
        ] {
            let (line, complaint) = outcome("x", ran);
            assert_eq!(line, "x: failed");
            let complaint = complaint.expect("it failed");
            assert!(complaint.contains(shown), "{complaint}");
        }
    }
}
