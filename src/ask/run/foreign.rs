//! What a run of somebody else's program comes to: what could not be shown, how many runs the machine bears at once, and
//! how one is repeated.

use crate::meaning::is_promised_by_few;
use locklab_runner::prediction::Comparison;

pub(crate) mod again;
pub(crate) mod gate;
pub(crate) mod unshown;

/// Whether something is told of a property of somebody else's lock.
pub(crate) fn is_told(comparison: &Comparison) -> bool {
    !is_promised_by_few(comparison.property) || comparison.predicted.is_some()
}

/// What is told of a program with several locks.
pub(crate) fn of_several(seed: u64, lock: &str) -> String {
    let has = match lock.contains("permit ") {
        true => "a semaphore is judged by each of its permits",
        false => "the program has several locks",
    };
    format!("{has}, and a run counts by the worst of them; with seed {seed} that is {lock}")
}
