//! Checks licences, sources and duplicates of the dependencies against `deny.toml`.

use anyhow::Result;

use crate::tool::{cargo, install, perform};

/// Runs cargo-deny, and installs it if it is missing. The advisory database is not consulted:
/// it changes independently of the repository.
///
/// # Errors
///
/// If it cannot be installed, or finds a violation.
pub fn run() -> Result<()> {
    install("deny")?;
    perform(cargo("deny check bans licenses sources"))
}
