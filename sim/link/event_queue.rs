//! The event queue: a heap of pending events ordered by (time, sequence number).
//!
//! Events with equal times keep the order in which they were scheduled, so the order of events
//! depends on the run only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events of type `T`, by time in nanoseconds.
#[derive(Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at_ns: u64,
    seq: u64,
    what: T,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> EventQueue<T> {
    /// No events.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    /// Adds an event.
    pub fn schedule(&mut self, at_ns: u64, what: T) {
        let seq = self.scheduled;
        self.scheduled += 1;
        self.heap.push(Reverse(Entry { at_ns, seq, what }));
    }

    /// The time of the next event.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.at_ns)
    }

    /// Removes the next event, if it is due at `now_ns` or earlier.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.what)
    }
}

impl<T> Entry<T> {
    fn key(&self) -> (u64, u64) {
        (self.at_ns, self.seq)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_at_equal_times_keep_their_insertion_order() {
        let mut event_queue = EventQueue::new();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
            event_queue.schedule(at, what);
        }
        let order: String = std::iter::from_fn(|| event_queue.pop_due(9)).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn no_event_is_popped_before_its_time() {
        let mut event_queue = EventQueue::new();
        event_queue.schedule(5, ());
        assert_eq!(event_queue.pop_due(4), None);
        assert_eq!(event_queue.pop_due(5), Some(()));
    }
}
