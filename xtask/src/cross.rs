//! The code for other systems, which no machine of CI has: it is checked, and neither linked nor run.

use anyhow::Result;

use crate::tool::{cargo, has_target, perform};

/// A target, and the packages that compile for it, with all that they depend on.
const CHECKED: [(&str, &str); 2] = [
    // All but the program itself, whose allocator needs a C compiler for macOS.
    ("aarch64-apple-darwin", "--package locklab-ask"),
    // What simulates. The rest needs sockets, processes and signals of Unix.
    (
        "x86_64-pc-windows-gnu",
        "--package locklab-runner --package locklab-report --package locklab-view",
    ),
];

/// Checks the code for each target whose standard library can be had.
/// Fails if it does not compile there.
pub fn run() -> Result<()> {
    for (target, packages) in CHECKED {
        match has_target(target)? {
            true => perform(cargo(&format!("check {packages} --target {target}")))?,
            false => println!("skipped: rustup target add {target}"),
        }
    }
    Ok(())
}
