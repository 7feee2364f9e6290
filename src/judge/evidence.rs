//! A violation with the lines of a file that show it.

use locklab_check::Violation;
use serde::Serialize;

/// Where and how a history contradicts a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The violation. Its times are in nanoseconds since the first event.
    #[serde(flatten)]
    pub violation: Violation,
    /// The lines of the operations that conflict, ascending.
    pub lines: Vec<u32>,
}

impl Evidence {
    /// The violation with these lines.
    pub fn new(violation: Violation, lines: impl IntoIterator<Item = u32>) -> Evidence {
        let mut lines: Vec<u32> = lines.into_iter().collect();
        lines.sort_unstable();
        lines.dedup();
        Evidence { violation, lines }
    }
}
