//! The formatting of every Rust file of the repository. `cargo fmt` follows module
//! declarations and misses those that a macro makes, such as the locks in their catalogue; so
//! rustfmt gets the list of files.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::source;

/// As in `[workspace.package]`.
const EDITION: &str = "2024";

/// Formats the Rust files that git tracks or would add, or in a check reports those that are not formatted.
pub fn run(is_check: bool) -> Result<()> {
    let files = source::files()?;
    let rust = files.iter().filter(|file| file.is_rust());
    let status = Command::new("rustfmt")
        .args(["--edition", EDITION])
        .args(is_check.then_some("--check"))
        .args(rust.map(|file| &file.path))
        .status()
        .context("start rustfmt; `rustup component add rustfmt` installs it")?;
    if !status.success() {
        bail!("these files are not formatted; run `cargo xtask format`");
    }
    Ok(())
}
