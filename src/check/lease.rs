//! No two clients may rely on the lock at once, each until its own clock says that the deadline of its grant has come.
//!
//! A grant's deadline is a reading of one of its client's clocks. The true time of that reading
//! is interpolated between the host's records, between which its clocks are linear; see
//! [`Timeline`]. A grant without deadline is believed in as by `belief`: its user has no reason to
//! stop.
//!
//! Where a clock is stepped back after it has passed the deadline, that alone does not restore
//! belief: a client that does not look has no reason to believe again. A client that looks at its
//! clock before it writes (`check = "deadline"`) and finds the deadline ahead does believe again,
//! from that look on, and rightly so by its own clock: the rule that it follows says that its lease
//! is valid. (A step back *before* the deadline extends belief: the clock had not reached it yet,
//! and a holder that follows the rule continues.)

use super::{Verdict, overlap};
use locklab_history::Failpoint;
use locklab_history::timeline::Timeline;

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let overlap = overlap::first(timeline, |grant| grant.lapses_ns);
    let violation = overlap.map(|overlap| {
        let looked = &timeline.all_records()[overlap.later.began].event;
        let began = match looked.is_reached(Failpoint::Checked) {
            true => "relied on the lock again",
            false => "was granted the lock",
        };
        overlap.violation(format!(
            "{} {} at {} while {}, granted it at {}, could rely on it until {}",
            overlap.later.client,
            began,
            timeline.at(overlap.at_ns),
            overlap.earlier.client,
            timeline.at(overlap.earlier.begins_ns),
            timeline.at(overlap.earlier.lapses_ns),
        ))
    });
    violation.into()
}
