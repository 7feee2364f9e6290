//! Compares libraries with their ports in the catalogue: `tests/ports/` does that, with the libraries that are
//! installed here.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{Client, install};
use crate::tool::{cargo, perform};

/// Installs these libraries, if they have ports, and compares all that can be had.
/// Fails if a difference has no reason.
pub fn compare(chosen: &BTreeMap<&String, Client>) -> Result<()> {
    let mut names = Vec::new();
    for (&name, client) in chosen {
        if client.ports.is_empty() {
            eprintln!("{name}: skipped: it has no port in the catalogue");
            continue;
        }
        match install(name, client) {
            Ok(()) => names.push(name.as_str()),
            Err(reason) => eprintln!("{name}: skipped: {reason:#}"),
        }
    }
    if names.is_empty() {
        eprintln!("none of these libraries can be compared here");
        return Ok(());
    }
    let mut tests = cargo("test --package locklab --test ports -- --nocapture libraries_and_ports");
    tests.env("LOCKLAB_PORTS", names.join(","));
    perform(tests).context("a library and its port differ without a reason")?;
    eprintln!(
        "compared {}: each difference has a reason",
        names.join(", ")
    );
    Ok(())
}
