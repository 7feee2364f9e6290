//! The lock files of the projects in the tree: each fits the dependencies of our crates.
//!
//! Cargo keeps that of the workspace up to date whenever it builds. The others are seen only where they are built
//! with `--locked`, some of them in long runs alone.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::commit::git;
use crate::tool::cargo;

/// Checks every lock file that git knows.
///
/// # Errors
///
/// If one is out of date, with the command that updates it.
pub fn run() -> Result<()> {
    let listed = git(&["ls-files", "*Cargo.lock"])?;
    ensure!(!listed.is_empty(), "git knows no lock file");
    let mut stale = Vec::new();
    for lock in listed.lines() {
        let manifest = Path::new(lock).with_extension("toml").display().to_string();
        let update = format!("update --workspace --manifest-path {manifest}");
        let output = cargo(&format!("{update} --locked --quiet")).output();
        let output = output.context("cargo did not start")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            stale.push(format!("{lock}: cargo {update}\n{said}"));
        }
    }
    ensure!(stale.is_empty(), "out of date:\n{}", stale.join("\n"));
    Ok(())
}
