//! How every Rust file of the repository is laid out. `cargo fmt` goes from module to
//! module and misses those that a macro declares, as the locks are by their catalogue; so
//! rustfmt is given the files by name.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tidy;

/// As in `[workspace.package]`.
const EDITION: &str = "2024";

/// What to do with a file that is laid out otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Say where.
    Check,
    /// Lay it out anew.
    Write,
}

/// Lays out the Rust files that git tracks, or would add.
///
/// # Errors
///
/// If rustfmt cannot read one, or, when it only looks, if one is laid out otherwise.
pub fn run(mode: Mode) -> Result<()> {
    let files = tidy::source::files()?;
    let rust = files.iter().filter(|file| file.is_rust());
    let status = Command::new("rustfmt")
        .args(["--edition", EDITION])
        .args((mode == Mode::Check).then_some("--check"))
        .args(rust.map(|file| &file.path))
        .status()
        .context("start rustfmt; `rustup component add rustfmt` installs it")?;
    if !status.success() {
        bail!("`cargo xtask format` lays these files out");
    }
    Ok(())
}
