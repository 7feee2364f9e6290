//! The checks that histories from elsewhere need beside those of `locklab-check`. One file per check.

pub mod grant_tokens;
pub mod permits;
pub mod unheld_release;
