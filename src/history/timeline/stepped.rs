//! Beliefs of clients whose clocks are stepped.

use super::tests::{begins, believed, history};
use crate::{Event, Failpoint};

/// Also if the clock was set back, and the old deadline is the later of the two by its reading.
#[test]
fn extension_replaces_the_deadline_whatever_the_clock_did_before() {
    for step_ns in [-90, -40, 0, 30] {
        let step_ns_at = |at_ns: u64| if at_ns < 50 { 0 } else { step_ns };
        let wall_ns = |at_ns: u64| (1000 + at_ns).saturating_add_signed(step_ns_at(at_ns));
        let mut history = history([
            (10, "c1", begins(1, wall_ns(10) + 100)),
            (50, "c1", Event::RunEnds),
            (60, "c1", begins(1, wall_ns(60) + 100)),
            (400, "c1", Event::BeliefEnds { grant: 1 }),
        ]);
        for record in &mut history.records {
            record.wall_ns = wall_ns(record.at_ns);
        }
        assert_eq!(believed(&history), [(1, 10, 160, 400)], "{step_ns}");
    }
}

/// A client that finds its deadline ahead looks at the clock that the deadline is on.
#[test]
fn a_look_at_the_clock_is_at_that_of_the_deadline() {
    for (wall_ns, mono_ns, looks) in [(60, 130, true), (130, 60, false)] {
        let mut history = history([
            (10, "c1", begins(1, 100)),
            (120, "c1", Event::RunEnds),
            (130, "c1", Event::reached(Failpoint::Checked)),
            (150, "c1", Event::BeliefEnds { grant: 1 }),
        ]);
        history.records[2].wall_ns = wall_ns;
        history.records[2].mono_ns = mono_ns;
        history.records[3].wall_ns = wall_ns + 20;
        let mut expected = vec![(1, 10, 100, 150)];
        expected.extend(looks.then_some((1, 130, 150, 150)));
        assert_eq!(believed(&history), expected);
    }
}
