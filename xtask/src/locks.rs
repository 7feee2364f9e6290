//! The lock files of the projects in the tree: each fits the dependencies of our crates.
//!
//! Cargo keeps that of the workspace up to date whenever it builds. The others are seen only where they are built
//! with `--locked`, some of them in long runs alone.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::tool::{cargo, git, said};

/// Checks every lock file that git knows.
/// Fails if one is out of date, with the command that updates it.
pub fn run() -> Result<()> {
    let listed = git(&["ls-files", "*Cargo.lock"])?;
    ensure!(!listed.is_empty(), "git knows no lock file");
    let mut stale = Vec::new();
    for lock in listed.lines() {
        let manifest = Path::new(lock).with_extension("toml").display().to_string();
        let update = format!("update --workspace --manifest-path {manifest}");
        if let Err(error) = said(&mut cargo(&format!("{update} --locked --quiet"))) {
            stale.push(format!("{lock}: cargo {update}\n{error}"));
        }
    }
    ensure!(stale.is_empty(), "out of date:\n{}", stale.join("\n"));
    Ok(())
}
