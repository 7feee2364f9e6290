//! The formatting of every Rust file of the repository. `cargo fmt` follows module
//! declarations and misses those that a macro makes, such as the locks in their catalogue; so
//! rustfmt gets the list of files.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::source;

/// As in `[workspace.package]`.
const EDITION: &str = "2024";

/// What to do with a file that is not formatted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Report it.
    Check,
    /// Format it.
    Write,
}

/// Formats the Rust files that git tracks or would add.
///
/// # Errors
///
/// If rustfmt cannot read a file, or, in check mode, if a file is not formatted.
pub fn run(mode: Mode) -> Result<()> {
    let files = source::files()?;
    let rust = files.iter().filter(|file| file.is_rust());
    let status = Command::new("rustfmt")
        .args(["--edition", EDITION])
        .args((mode == Mode::Check).then_some("--check"))
        .args(rust.map(|file| &file.path))
        .status()
        .context("start rustfmt; `rustup component add rustfmt` installs it")?;
    if !status.success() {
        bail!("these files are not formatted; run `cargo xtask format`");
    }
    Ok(())
}
