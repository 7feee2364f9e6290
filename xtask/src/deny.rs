//! Licences, sources and duplicates of the dependencies, as `deny.toml` allows them.

use anyhow::Result;

use crate::tool::{cargo, install, perform};

/// Runs cargo-deny, which is installed if it is missing. The database of advisories is not
/// asked: it changes without the repository.
///
/// # Errors
///
/// If it cannot be installed, or finds what is not allowed.
pub fn run() -> Result<()> {
    install("deny")?;
    perform(cargo("deny check bans licenses sources"))
}
