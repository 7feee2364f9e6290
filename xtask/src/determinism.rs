//! The determinism gate: a run depends on its scenario and seed, and on nothing else.
//!
//! Every shipped scenario runs twice within one process, compared event by event; then in
//! three separate processes, on one thread and on two, in debug and in release, whose results
//! must be identical byte for byte.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::tool::{cargo, perform};
use crate::{binaries, release};

/// The seeds with which every scenario runs in CI.
pub const FEW: u64 = 1;

/// The seeds of a long run.
pub const MANY: u64 = 50;

/// Runs the gate with this many seeds of each scenario. Pictures are not compared, so they are drawn
/// in the format that costs least.
///
/// # Errors
///
/// If any two results differ, with the difference.
pub fn run(seeds: u64) -> Result<()> {
    release::build()?;
    // The tests have built it, with just these features; `cargo build` would do it once more.
    perform(cargo(&binaries::debug()?))?;
    let range = format!("0..{seeds}");
    let twice = format!("0..{}", seeds.div_ceil(2));
    locklab("release", &["run", "--all", "--seeds", &twice, "--twice"])?;
    let results = |profile, jobs| {
        let all = [
            "run", "--all", "--seeds", &range, "--format", "svg", "--json",
        ];
        let rest = ["--out", "target/locklab/gate", "--jobs", jobs];
        locklab(profile, &[&all[..], &rest].concat())
    };
    let reference = results("release", "1")?;
    for (profile, jobs) in [("release", "2"), ("debug", "2")] {
        let results = results(profile, jobs)?;
        let same = results
            .lines()
            .zip(reference.lines())
            .take_while(|(a, b)| a == b)
            .count();
        ensure!(
            results == reference,
            "{profile} with --jobs {jobs} differs from release with --jobs 1 at line {} of its \
             results: {:?} against {:?}",
            same + 1,
            results.lines().nth(same).unwrap_or_default(),
            reference.lines().nth(same).unwrap_or_default(),
        );
        println!("{profile} with --jobs {jobs}: the same to the last byte");
    }
    Ok(())
}

/// The output of this profile's locklab. With so few seeds some predictions stay
/// undecided, which does not matter here: exit code 3 is as good as 0.
fn locklab(profile: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(format!("target/{profile}/locklab"));
    command.args(arguments).stderr(Stdio::piped());
    let output = command.output().context("locklab did not start")?;
    ensure!(
        matches!(output.status.code(), Some(0 | 3)),
        "locklab {} ({profile}): {}\n{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("its results are not UTF-8")
}
