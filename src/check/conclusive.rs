//! Whether a run could have shown a violation at all.
//!
//! Nothing contradicts mutual exclusion in a run whose fault never came, or whose
//! clients never met. Such a run is evidence of nothing.

use crate::history::timeline::Timeline;
use crate::history::{Event, Op, Phase};

/// Why what holds in this history proves nothing, if so.
pub(super) fn doubt(timeline: &Timeline) -> Option<String> {
    let uncontended = || (!is_contended(timeline)).then(|| "the lock was never contended".into());
    missed(timeline).or_else(uncontended)
}

/// Whether every fault of the run took effect.
pub fn struck(history: &crate::history::History) -> bool {
    let missed = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                phase: Phase::Missed,
                ..
            }
        )
    };
    !history.records.iter().any(|record| missed(&record.event))
}

/// Says so, if a fault never took effect.
pub(super) fn missed(timeline: &Timeline) -> Option<String> {
    let missed = timeline
        .records()
        .find_map(|(_, _, record)| match &record.event {
            Event::Fault {
                fault,
                phase: Phase::Missed,
                ..
            } => Some(fault),
            _ => None,
        });
    missed.map(|fault| format!("fault {fault} never took effect"))
}

/// Whether some client called `acquire` while another believed that it held the lock
/// or was calling `acquire` itself.
fn is_contended(timeline: &Timeline) -> bool {
    let mut clients: Vec<Client> = Vec::new();
    clients.resize_with(timeline.hosts, Client::default);
    let mut busy = 0_usize;
    for (_, host, record) in timeline.records() {
        let client = &mut clients[host];
        let was_busy = client.is_busy();
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                if busy > usize::from(was_busy) {
                    return true;
                }
                client.in_call = true;
            }
            Event::Complete {
                op: Op::Acquire, ..
            } => client.in_call = false,
            Event::BeliefBegins { grant, .. } => client.believes.push(*grant),
            Event::BeliefEnds { grant } => client.believes.retain(|open| open != grant),
            event if event.is_death() => *client = Client::default(),
            _ => {}
        }
        busy = busy + usize::from(client.is_busy()) - usize::from(was_busy);
    }
    false
}

#[derive(Default)]
struct Client {
    in_call: bool,
    /// The grants that it believes in.
    believes: Vec<u32>,
}

impl Client {
    fn is_busy(&self) -> bool {
        self.in_call || !self.believes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::check::Property;
    use crate::check::story::Story;

    const UNCONTENDED: &str = "the lock was never contended";

    /// Judges the story alone; [`Story::expect_holds`] would add contention. The order of
    /// grants asks for more than contention, and says so itself.
    fn check(story: Story, expected: Option<&str>) {
        let of_contention =
            |property: &Property| !matches!(property, Property::AcknowledgedLost | Property::Fifo);
        for property in Property::ALL.into_iter().filter(of_contention) {
            match expected {
                Some(why) => story.expect_inconclusive(property, why),
                None => story.expect_holds_as_it_is(property),
            }
        }
    }

    #[test]
    fn trying_while_another_holds_the_lock_is_contention() {
        let story = Story::new()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c2")
            .fails(30, "c2");
        check(story, None);
    }

    #[test]
    fn two_calls_that_overlap_are_contention() {
        let story = Story::new()
            .tries(0, "c1")
            .tries(5, "c2")
            .fails(10, "c1")
            .fails(10, "c2");
        check(story, None);
    }

    #[test]
    fn one_after_the_other_or_alone_is_none() {
        let story = Story::new()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c1")
            .fails(30, "c1")
            .releases(50, "c1")
            .tries(50, "c2")
            .granted(60, "c2");
        check(story, Some(UNCONTENDED));
        check(Story::new(), Some(UNCONTENDED));
    }

    #[test]
    fn the_dead_do_not_contend() {
        let story = Story::new()
            .tries(0, "c1")
            .granted(10, "c1")
            .tries(20, "c1")
            .fault_begins(30, "c1", "crash")
            .tries(40, "c2")
            .granted(50, "c2");
        check(story, Some(UNCONTENDED));
    }

    #[test]
    fn a_fault_that_never_came_makes_what_holds_inconclusive() {
        let story = Story::new()
            .tries(0, "c1")
            .tries(5, "c2")
            .fault_missed(100, "c1", "gc");
        check(story, Some("fault gc never took effect"));
    }

    #[test]
    fn a_violation_stands_whatever_is_in_doubt() {
        let story = Story::new()
            .holds(10, "c1")
            .holds(20, "c2")
            .fault_missed(100, "c1", "gc");
        story.expect_violation_at(Property::Belief, 20);
        story.expect_inconclusive(Property::LostUpdate, "fault gc never took effect");
    }
}
