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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_builder::{HistoryBuilder, MS};

    #[test]
    fn a_grant_belongs_to_the_part_in_which_it_begins() {
        let mut builder = HistoryBuilder::default();
        for (ms, client) in [
            (0, "c1"),
            (100, "c1"),
            (150, "c2"),
            (199, "c1"),
            (200, "c2"),
        ] {
            builder = match ms {
                100 => builder.fault_begins(100, "n1", "pause"),
                200 => builder.fault_ends(200, "n1", "pause"),
                _ => builder,
            };
            builder = builder.holds(ms, client).releases(ms, client);
        }
        let part = |ms, grants| Part {
            lasts_ns: ms * MS,
            grants,
        };
        let expected = Pace {
            before: part(100, 1),
            during: part(100, 3),
            after: part(300, 1),
        };
        assert_eq!(pace(&builder.ends(500).history()), Some(expected));
    }

    #[test]
    fn run_without_an_ended_fault_has_no_parts() {
        let builder = || HistoryBuilder::default().holds(10, "c1").releases(20, "c1");
        assert_eq!(pace(&builder().ends(100).history()), None);
        let paused = builder().fault_begins(30, "n1", "pause");
        assert_eq!(pace(&paused.ends(100).history()), None);
    }
}
