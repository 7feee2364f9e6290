//! Random input for the node's wire: drawn by chance on a stable compiler, or found by
//! libFuzzer, which sees what the node does with it and wants a nightly one.

use std::process::Command;

use anyhow::{Context, Result};

use crate::tool::{self, cargo, perform, works};

/// How long a run takes if nobody says, in seconds.
pub const SECONDS: &str = "60";

/// Runs the test of the wire for some time, with optimisation.
///
/// # Errors
///
/// If `seconds` is no number, or the node failed: the test says with which input.
pub fn run(seconds: &str) -> Result<()> {
    let line = "test --release --package locklab-redis --test fuzz -- --nocapture";
    let mut cargo = cargo(line);
    cargo.env("LOCKLAB_FUZZ_SECONDS", checked(seconds)?);
    perform(cargo)
}

/// Runs libFuzzer for some time. What it wants is installed if it is missing: a nightly
/// compiler, by rustup, and cargo-fuzz. Where there is no rustup it is skipped, and says
/// so.
///
/// # Errors
///
/// If `seconds` is no number, something cannot be installed, or the node failed: the
/// input is in `fuzz/artifacts`.
pub fn libfuzzer(seconds: &str) -> Result<()> {
    let seconds = checked(seconds)?;
    if !works(rustup("--version")) {
        println!("skipped: libFuzzer wants a nightly compiler, and there is no rustup to ask");
        return Ok(());
    }
    if !works(cargo("+nightly --version")) {
        perform(rustup("toolchain install nightly --profile minimal"))?;
    }
    tool::install("fuzz")?;
    let mut fuzz = cargo("+nightly fuzz run wire --");
    fuzz.arg(format!("-max_total_time={seconds}"));
    perform(fuzz)
}

fn checked(seconds: &str) -> Result<&str> {
    let _: u64 = seconds.parse().context("--seconds takes a number")?;
    Ok(seconds)
}

fn rustup(line: &str) -> Command {
    let mut rustup = Command::new("rustup");
    rustup.args(line.split(' '));
    rustup
}
