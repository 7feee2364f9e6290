//! Random input for the node's wire format: drawn at random on a stable compiler, or found by
//! libFuzzer, which is guided by code coverage and needs a nightly compiler.

use std::process::Command;

use anyhow::{Context, Result};

use crate::tool::{self, cargo, perform, works};

/// The default duration of a run, in seconds.
pub const SECONDS: &str = "60";

/// Runs the wire test for this many seconds, with optimisation.
///
/// # Errors
///
/// If `seconds` is not a number, or the node failed: the test prints the input.
pub fn run(seconds: &str) -> Result<()> {
    let line = "test --release --package locklab-redis --test fuzz -- --nocapture";
    let mut cargo = cargo(line);
    cargo.env("LOCKLAB_FUZZ_SECONDS", checked(seconds)?);
    perform(cargo)
}

/// Runs libFuzzer for this many seconds. Missing requirements are installed: a nightly
/// compiler, by rustup, and cargo-fuzz. Without rustup the run is skipped with a message.
///
/// # Errors
///
/// If `seconds` is not a number, an installation fails, or the node failed: the input is in
/// `fuzz/artifacts`.
pub fn libfuzzer(seconds: &str) -> Result<()> {
    let seconds = checked(seconds)?;
    if !works(rustup("--version")) {
        println!("skipped: libFuzzer needs a nightly compiler, and rustup is not installed");
        return Ok(());
    }
    if !works(cargo("+nightly --version")) {
        perform(rustup("toolchain install nightly --profile minimal"))?;
    }
    tool::install("fuzz")?;
    let mut fuzz = cargo("+nightly fuzz run wire --");
    fuzz.arg(format!("-max_total_time={seconds}"));
    fuzz.env("LSAN_OPTIONS", "suppressions=fuzz/lsan.txt");
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
