//! How near a run came to a violation: the longest time for which a client held the lock without a grant or
//! an extension.
//!
//! It is a time, not a count: while a client holds, it grows with the run, and once it exceeds the
//! lease, another client can get the lock. It needs only what happened so far, as splitting requires.

use locklab_history::{Event, History};
use locklab_vecmap::VecMap;

/// A stretch of time in which a client held the lock, from a grant or an extension up to the next one, or
/// to the end of the grant. True times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    begins_ns: u64,
    ends_ns: u64,
}

/// All stretches of a run.
pub(crate) fn held(history: &History) -> Vec<Held> {
    let mut open: VecMap<(&str, u32), u64> = VecMap::new();
    let mut held = Vec::new();
    for record in &history.records {
        let ends_ns = record.at_ns;
        let mut close = |begins_ns| held.push(Held { begins_ns, ends_ns });
        match &record.event {
            Event::BeliefBegins { grant, .. } => {
                let before = open.insert((&*record.host, *grant), record.at_ns);
                before.into_iter().for_each(&mut close);
            }
            Event::BeliefEnds { grant } => {
                let before = open.remove(&(&*record.host, *grant));
                before.into_iter().for_each(&mut close);
            }
            event if event.is_death() => open.retain(|(host, _), begins_ns| {
                let lives = **host != *record.host;
                if !lives {
                    close(*begins_ns);
                }
                lives
            }),
            _ => {}
        }
    }
    let ends_ns = history.end_ns;
    held.extend(
        open.into_values()
            .map(|begins_ns| Held { begins_ns, ends_ns }),
    );
    held
}

/// The length of the longest stretch, in nanoseconds.
pub(crate) fn peak_ns(held: &[Held]) -> u64 {
    let lengths = held
        .iter()
        .map(|it| it.ends_ns.saturating_sub(it.begins_ns));
    lengths.max().unwrap_or(0)
}

/// The first time at which a stretch is longer than this, if one is. That it is follows from what happened
/// before that time.
pub(crate) fn exceeds_at_ns(held: &[Held], level_ns: u64) -> Option<u64> {
    let times = held
        .iter()
        .map(|it| (it.begins_ns + level_ns + 1, it.ends_ns));
    let reached = times.filter(|(at_ns, ends_ns)| at_ns <= ends_ns);
    reached.map(|(at_ns, _)| at_ns).min()
}

#[cfg(test)]
mod tests {
    use locklab_history::Record;

    use super::*;

    #[test]
    fn a_stretch_ends_with_an_extension_a_release_or_the_run() {
        let begins = |grant| Event::BeliefBegins {
            grant,
            deadline: None,
            token: None,
            shared: false,
        };
        let events = [
            (10, "c1", begins(1)),
            (15, "c2", begins(1)),
            (40, "c1", begins(1)),
            (60, "c1", Event::BeliefEnds { grant: 1 }),
        ];
        let record = |(at_ns, host, event): (u64, &str, Event)| Record {
            at_ns,
            host: host.into(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event,
        };
        let history = History {
            records: events.into_iter().map(record).collect(),
            end_ns: 100,
            ..History::default()
        };
        let held = held(&history);
        let spans: Vec<_> = held.iter().map(|it| (it.begins_ns, it.ends_ns)).collect();
        assert_eq!(spans, [(10, 40), (40, 60), (15, 100)]);
        assert_eq!(peak_ns(&held), 85);
        assert_eq!(exceeds_at_ns(&held, 19), Some(30));
        assert_eq!(exceeds_at_ns(&held, 30), Some(46));
        assert_eq!(exceeds_at_ns(&held, 84), Some(100));
        assert_eq!(exceeds_at_ns(&held, 85), None);
    }
}
