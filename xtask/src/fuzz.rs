//! Random input for the node's wire, on a stable compiler. (`cargo +nightly fuzz run wire`
//! plays the same inputs, and lets libFuzzer find them.)

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs the test of the wire for some time, with optimisation.
///
/// # Errors
///
/// If `seconds` is no number, or the node failed: the test says with which input.
pub fn run(seconds: &str) -> Result<()> {
    let _: u64 = seconds.parse().context("--seconds takes a number")?;
    let line = "test --release --package locklab-sim --test redis_fuzz -- --nocapture";
    let mut cargo = Command::new("cargo");
    cargo.args(line.split(' '));
    let status = cargo.env("LOCKLAB_FUZZ_SECONDS", seconds).status();
    let status = status.context("start cargo")?;
    if !status.success() {
        bail!("`cargo {line}`: {status}");
    }
    Ok(())
}
