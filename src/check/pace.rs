//! How often a lock was granted before, during and after the faults of a run: a measurement, not a
//! property (claim K19: faults cost an asynchronous algorithm its speed, never its safety).

use locklab_history::timeline::Timeline;
use locklab_history::{Event, History, Phase};

use super::recovery::healed_ns;

/// The number of grants of a lock in a part of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// How long the part is, in nanoseconds.
    pub lasts_ns: u64,
    /// How many grants began in it.
    pub grants: u64,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Up to the beginning of the first fault.
    pub before: Part,
    /// From there to the end of the last fault.
    pub during: Part,
    /// From there to the end of the run.
    pub after: Part,
}

/// Measures the parts of a history; `None` if no fault took effect, or one never ended.
pub fn pace(history: &History) -> Option<Pace> {
    let timeline = Timeline::of(history);
    let is_start = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                phase: Phase::Begins,
                ..
            }
        )
    };
    let mut records = timeline.all_records().iter();
    let begun_ns = records.find(|record| is_start(&record.event))?.at_ns;
    let healed_ns = healed_ns(&timeline)?;
    let part = |from_ns: u64, to_ns: u64| {
        let is_within = |at_ns| (from_ns..to_ns).contains(&at_ns);
        let grants = timeline.grants.iter();
        Part {
            lasts_ns: to_ns - from_ns,
            grants: grants.filter(|grant| is_within(grant.begins_ns)).count() as u64,
        }
    };
    Some(Pace {
        before: part(0, begun_ns),
        during: part(begun_ns, healed_ns),
        after: part(healed_ns, timeline.end_ns),
    })
}
