//! The release build of the checks: the statistical tests, the determinism gate and the counted
//! instructions share it.
//!
//! Cargo always gets the same packages and targets, since the features of the dependencies follow
//! from them: another selection would build most crates anew.

use anyhow::Result;

use crate::tool::{cargo, perform};

/// Test binaries of thousands of runs each, which take a quarter of the time in release.
pub const STATISTICAL: &[&str] = &["claims", "disagreements", "matrix", "paper"];

const PACKAGES: &str = "--release --package locklab --package locklab-instructions";

/// Builds `target/release/locklab`, `target/release/locklab-instructions` and the statistical tests.
///
/// # Errors
///
/// If something does not compile.
pub fn build() -> Result<()> {
    perform(cargo(&format!("build {PACKAGES} --bins{}", tests())))
}

/// Runs the statistical tests.
///
/// # Errors
///
/// If one fails.
pub fn statistics() -> Result<()> {
    perform(cargo(&format!("test {PACKAGES}{}", tests())))
}

fn tests() -> String {
    let tests = STATISTICAL.iter().map(|name| format!(" --test {name}"));
    tests.collect()
}
