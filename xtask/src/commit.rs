//! The last commit. Where a step of CI takes a share of a whole, the id of the commit chooses it: the same commit
//! takes the same share, and many commits take all of them.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// The output of git with these words.
///
/// # Errors
///
/// If git cannot be started, or fails.
pub fn git(words: &[&str]) -> Result<String> {
    let said = Command::new("git").args(words).output();
    let said = said.with_context(|| format!("start git {}", words.join(" ")))?;
    if !said.status.success() {
        let reason = String::from_utf8_lossy(&said.stderr);
        bail!("git {}: {}", words.join(" "), reason.trim());
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// One of so many shares, from 0, by the first digits of a commit's id.
pub fn share(id: &str, of: u64) -> u64 {
    let digits = id.get(..15).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default() % of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_chooses_the_share() {
        assert_eq!(share("0000000000000030aaaa", 32), 3);
        assert_eq!(share("0000000000000230aaaa", 32), 3);
        assert_eq!(share("0000000000000230aaaa", 12), 11);
        assert_eq!(share("", 12), 0);
    }
}
