//! What is to happen when: events ordered by time, at equal times as they were scheduled.

use std::collections::BTreeMap;

/// Events of type `T`, by time in nanoseconds.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    events: BTreeMap<(u64, u64), T>,
    scheduled: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self {
            events: BTreeMap::new(),
            scheduled: 0,
        }
    }

    pub(super) fn schedule(&mut self, at_ns: u64, event: T) {
        self.events.insert((at_ns, self.scheduled), event);
        self.scheduled += 1;
    }

    /// The time of the next event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.events.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Removes the next event, if it is due at `now_ns` or earlier.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        let first = self.events.first_entry()?;
        (first.key().0 <= now_ns).then(|| first.remove())
    }
}
