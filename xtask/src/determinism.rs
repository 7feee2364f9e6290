//! The determinism gate: a run is a function of its scenario and seed, and of nothing
//! else.
//!
//! Every shipped scenario runs twice within one process, event by event; then in four
//! processes of their own, on one thread and on two, in release and in debug (with fewer
//! seeds: it takes twice as long), whose results must be the same to the last byte.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Seeds of what is compared in release, and of what is compared with debug.
const MANY: &str = "0..50";
const SOME: &str = "0..20";

/// Runs the gate.
///
/// # Errors
///
/// When anything differs, and what.
pub fn run() -> Result<()> {
    locklab("release", &["run", "--all", "--seeds", SOME, "--twice"])?;
    compare(MANY, ["release", "release"])?;
    compare(SOME, ["release", "debug"])
}

/// Runs everything with these seeds, on one thread and on two.
fn compare(seeds: &str, profiles: [&str; 2]) -> Result<()> {
    let [one, other] = [(profiles[0], "1"), (profiles[1], "2")];
    let (expected, found) = (results(seeds, one)?, results(seeds, other)?);
    let pairs = expected.lines().zip(found.lines());
    let same = pairs.take_while(|(a, b)| a == b).count();
    let line = |results: &str| results.lines().nth(same).unwrap_or_default().to_owned();
    ensure!(
        expected == found,
        "{} with --jobs {} differs from {} with --jobs {} at line {} of its results: {:?} against \
         {:?}",
        other.0,
        other.1,
        one.0,
        one.1,
        same + 1,
        line(&found),
        line(&expected),
    );
    println!(
        "seeds {seeds}: {} on 1 thread and {} on 2, the same to the last byte",
        one.0, other.0
    );
    Ok(())
}

/// The results, fingerprints of every event included, as one process prints them.
fn results(seeds: &str, (profile, jobs): (&str, &str)) -> Result<String> {
    let line = ["run", "--all", "--json", "--out", "target/locklab/gate"];
    let arguments = [&line[..], &["--seeds", seeds, "--jobs", jobs]].concat();
    locklab(profile, &arguments)
}

/// What locklab prints, built with this profile.
fn locklab(profile: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "locklab"]);
    if profile == "release" {
        command.arg("--release");
    }
    command.arg("--").args(arguments).stderr(Stdio::piped());
    let output = command.output().context("cargo did not start")?;
    ensure!(
        output.status.success(),
        "locklab {} ({profile}): {}\n{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("its results are no text")
}
