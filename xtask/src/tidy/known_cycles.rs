//! The cycles of files that exist, each with the reason why. The list can only become shorter.

/// Where this list is.
pub const LIST: &str = "xtask/src/tidy/known_cycles.rs";

/// A cycle of files that is accepted for now.
pub struct Known {
    /// All files of the cycle; see [`cycles`](super::cycles) for a module's own file.
    pub files: &'static [&'static str],
    /// Why it exists.
    pub why: &'static str,
}

pub const KNOWN: &[Known] = &[];
