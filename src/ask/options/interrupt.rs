//! Ctrl-C.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Error};

use locklab_lab::Exit;

/// A flag set by Ctrl-C. A second Ctrl-C ends the program immediately.
pub(crate) fn flag() -> anyhow::Result<&'static AtomicBool> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    static WATCHED: OnceLock<Result<(), String>> = OnceLock::new();
    let watch = || {
        ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted as i32);
            }
        })
    };
    let watched = WATCHED.get_or_init(|| watch().map_err(|error| error.to_string()));
    watched
        .clone()
        .map_err(Error::msg)
        .context("cannot watch for Ctrl-C")?;
    Ok(&INTERRUPTED)
}
