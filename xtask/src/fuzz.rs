//! Random input for the node's wire format and its scripts: drawn at random on a stable compiler, or
//! found by libFuzzer, which is guided by code coverage and needs a nightly compiler.

use std::process::Command;

use anyhow::Result;

use crate::tool::{self, cargo, perform, works};

/// The runs of libFuzzer, and what AddressSanitizer is told. An interpreter outlives the input that it
/// was made for, so for scripts leaks do not count. A
/// script is long enough for some statements at once.
const TARGETS: [(&str, &str); 2] = [
    ("+nightly fuzz run wire --", "detect_leaks=1"),
    (
        "+nightly fuzz run script -- -detect_leaks=0 -len_control=0 -max_len=600",
        "detect_leaks=0",
    ),
];

/// Runs both tests for this many seconds each, with optimisation.
/// Fails if the node failed: the test prints the input.
pub fn run(seconds: u64) -> Result<()> {
    let line = "test --profile ci --package locklab-redis --test fuzz -- --nocapture";
    let mut cargo = cargo(line);
    cargo.env("LOCKLAB_FUZZ_SECONDS", seconds.to_string());
    perform(cargo)
}

/// Runs libFuzzer for this many seconds on each target. Missing requirements are installed: a nightly
/// compiler, by rustup, and cargo-fuzz. Without rustup the run is skipped with a message.
/// Fails if an installation fails, or the node failed: the input is in
/// `fuzz/artifacts`.
pub fn libfuzzer(seconds: u64) -> Result<()> {
    if !works(rustup("--version")) {
        println!("skipped: libFuzzer needs a nightly compiler, and rustup is not installed");
        return Ok(());
    }
    if !works(cargo("+nightly --version")) {
        perform(rustup("toolchain install nightly --profile minimal"))?;
    }
    tool::install_subcommand("fuzz")?;
    for (target, asan_options) in TARGETS {
        let mut fuzz = cargo(target);
        fuzz.env("ASAN_OPTIONS", asan_options);
        fuzz.arg(format!("-max_total_time={seconds}"));
        perform(fuzz)?;
    }
    Ok(())
}

fn rustup(line: &str) -> Command {
    let mut rustup = Command::new("rustup");
    rustup.args(line.split(' '));
    rustup
}
