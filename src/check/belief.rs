//! Belief from the return of `acquire` to the call of `release`.
//!
//! A belief without release lasts to the end of the history, or to the death of its client: a
//! process that was killed, or whose machine crashed, believes nothing. Two grants of one
//! client may overlap; that is not a second holder.

use super::{Verdict, overlap};
use locklab_history::timeline::Timeline;

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let overlap = overlap::first(timeline, |grant| grant.ends_ns);
    let violation = overlap.map(|overlap| {
        overlap.violation(format!(
            "{} was granted the lock at {} while {}, granted it at {}, had not released it",
            overlap.later.client,
            timeline.at(overlap.at_ns),
            overlap.earlier.client,
            timeline.at(overlap.earlier.begins_ns),
        ))
    });
    violation.into()
}
