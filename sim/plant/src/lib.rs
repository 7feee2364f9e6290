//! Mistakes that are made on purpose, to see that somebody notices.
//!
//! Where the code asks [`plant`], a mistake of that name is built in, and only there: with the
//! feature `plants` one of them, which the environment names, comes true for the whole process.
//! Without the feature no mistake can be chosen, and nothing is left of the questions.
//! `tests/plants` has the list, and holds that each is caught.

/// Names the mistake to make.
#[cfg(feature = "plants")]
const VARIABLE: &str = "LOCKLAB_PLANT";

/// Whether the mistake of this name is to be made.
#[cfg(feature = "plants")]
pub fn plant(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var(VARIABLE).ok());
    chosen.as_deref() == Some(name)
}

/// Whether the mistake of this name is to be made: never.
#[cfg(not(feature = "plants"))]
#[inline(always)]
pub const fn plant(_: &str) -> bool {
    false
}
