//! What a run of somebody else's program comes to: what could not be shown, how many runs the machine bears at once, and
//! how one is repeated.

use locklab_lab::layout;
use locklab_values::untrusted;
use locklab_vecmap::{VecMap, VecSet};

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

/// What is told of renewals by programs that did not have the lock, with the seeds of the runs.
pub(crate) fn renewals(wrong: &VecMap<String, VecSet<u64>>) -> Vec<String> {
    let told = wrong.iter().map(|(what, seeds)| {
        let first = seeds.first().map(u64::to_string).unwrap_or_default();
        let seeds = match seeds.len() {
            1 => format!("with seed {first}"),
            several => format!("with {several} seeds, the first is {first}"),
        };
        let what = untrusted::line(what);
        layout::fold(&format!("  renewal ✗: {what}, {seeds}"))
    });
    let means = { !wrong.is_empty() }.then(|| layout::fold(WRONG_RENEWAL));
    told.chain(means).collect()
}

/// What it means, and what prevents it.
const WRONG_RENEWAL: &str = "  A client that did not have the lock made others wait longer for it. Let the renewal \
    compare the lock's value in one step (a script), and end it before the release.";
