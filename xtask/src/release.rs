//! The optimised build of the checks, in the profile `ci`: the tests that simulate much, the determinism gate and the counted
//! instructions share it.
//!
//! Cargo always gets the same packages and targets, since the features of the dependencies follow
//! from them: another selection would build most crates anew.

use anyhow::Result;

use crate::tool::{cargo, perform};

/// Test binaries that simulate much, which take a quarter of the time in release.
pub const TESTS: &[&str] = &[
    "book",
    "claims",
    "cli",
    "deadlock_free",
    "disagreements",
    "ground_truth",
    "matrix",
    "paper",
    "rare",
    "risk",
    "shrink",
    "unending",
    "wire",
];

/// The packages, as cargo takes them.
pub const PACKAGES: &str = "--profile ci --package locklab --package locklab-instructions";

/// Builds `target/ci/locklab`, `target/ci/locklab-instructions` and the tests.
pub fn build() -> Result<()> {
    perform(cargo(&format!("build {PACKAGES} --bins{}", selected())))
}

/// The command line of cargo that builds the tests.
pub fn tests() -> String {
    format!("test {PACKAGES}{}", selected())
}

fn selected() -> String {
    let tests = TESTS.iter().map(|name| format!(" --test {name}"));
    tests.collect()
}
