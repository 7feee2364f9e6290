//! Checks licences, sources, duplicates and advisories of the dependencies against `deny.toml`.

use anyhow::Result;

use crate::tool::{cargo, install_subcommand, perform, works};

/// Runs cargo-deny, and installs it if it is missing. Where RustSec's database cannot be fetched, the
/// advisories are skipped with a message.
pub fn run() -> Result<()> {
    install_subcommand("deny")?;
    perform(cargo("deny check bans licenses sources"))?;
    if !works(cargo("deny fetch db")) {
        println!("skipped: the advisories, since RustSec's database cannot be fetched");
        return Ok(());
    }
    perform(cargo("deny --offline check advisories"))
}
