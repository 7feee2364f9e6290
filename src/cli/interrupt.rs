//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::Exit;

/// A flag set by Ctrl-C. A second Ctrl-C ends the program immediately.
pub(super) fn flag() -> anyhow::Result<&'static AtomicBool> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(&INTERRUPTED)
}
