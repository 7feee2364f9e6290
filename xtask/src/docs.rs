//! The documentation of every crate, where a warning is an error.
//!
//! rustdoc needs what the compiler knows of each crate, and the step before, Clippy, has found it out. Cargo takes
//! it from there if it starts the same program for the same targets with the same arguments.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::tool::{cargo, perform, said};

/// The arguments after `--` of `cargo clippy` in the form in which it hands them to `clippy-driver`. If that form
/// changes, Cargo checks every crate once more.
const CLIPPY_ARGUMENTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// The packages as Clippy gets them (`test::DEBUG`), but for one without documentation. There are no examples:
/// naming them makes Cargo choose the features of the dependencies as it does for tests.
const PACKAGES: [&str; 2] = [
    "doc --workspace --exclude xtask --exclude own-lock --no-deps --lib --examples",
    "doc --package xtask --no-deps",
];

/// Documents all crates.
/// Fails if rustdoc warns, for instance of a link that leads nowhere.
pub fn run() -> Result<()> {
    let driver = clippy_driver()?;
    for line in PACKAGES {
        let mut doc = cargo(line);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        if driver.is_file() {
            doc.env("RUSTC_WORKSPACE_WRAPPER", &driver);
            doc.env("CLIPPY_ARGS", CLIPPY_ARGUMENTS);
        }
        perform(doc)?;
    }
    Ok(())
}

/// The program that `cargo clippy` starts instead of rustc.
fn clippy_driver() -> Result<PathBuf> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(sysroot.trim()).join("bin/clippy-driver"))
}
