//! The refused attempts of a waiting client.
//!
//! Each client's first refused attempt in the window shows that it waits; the many later ones
//! would flood the picture. They are drawn thin, without labels, and are counted where time is
//! compressed.

use std::collections::{BTreeMap, BTreeSet};

use super::window::Window;
use locklab_history::{Event, History, Message, Op, Outcome};

/// A refused attempt after the client's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry<'a> {
    pub(super) client: &'a str,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
}

impl Retry<'_> {
    /// Whether the message belongs to this attempt.
    pub(super) fn owns(&self, message: &Message) -> bool {
        let ends = [&*message.from, &*message.to];
        ends.contains(&self.client) && (self.from_ns..=self.until_ns).contains(&message.sent_ns)
    }
}

/// When each client retries, without overlaps, in order.
#[derive(Default)]
pub(super) struct Spans<'a>(BTreeMap<&'a str, Vec<(u64, u64)>>);

impl<'a> Spans<'a> {
    /// Of attempts in the order of their completion.
    pub(super) fn of(retries: &[Retry<'a>]) -> Self {
        let mut spans = Self::default();
        for retry in retries {
            let spans = spans.0.entry(retry.client).or_default();
            let mut from_ns = retry.from_ns;
            // Attempts of several owners of one client may overlap.
            while let Some((earlier_ns, _)) = spans.pop_if(|(_, until_ns)| *until_ns >= from_ns) {
                from_ns = from_ns.min(earlier_ns);
            }
            spans.push((from_ns, retry.until_ns));
        }
        spans
    }

    /// Whether the message belongs to one of the attempts.
    pub(super) fn own(&self, message: &Message) -> bool {
        let is_in = |client: &str| {
            let Some(spans) = self.0.get(client) else {
                return false;
            };
            let next = spans.partition_point(|(from_ns, _)| *from_ns <= message.sent_ns);
            let begun = next.checked_sub(1).map(|place| spans[place]);
            begun.is_some_and(|(_, until_ns)| message.sent_ns <= until_ns)
        };
        is_in(&message.from) || is_in(&message.to)
    }
}

/// The refused attempts in the window, in the order of their completion.
pub(super) fn retries(history: &History, window: Window) -> Vec<Retry<'_>> {
    let mut invoked: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    let mut waits: BTreeSet<&str> = BTreeSet::new();
    let mut retries = Vec::new();
    for record in &history.records {
        match record.event {
            Event::Invoke {
                call,
                op: Op::Acquire,
            } => {
                invoked.insert((&record.host, call), record.at_ns);
            }
            Event::Complete {
                call,
                op: Op::Acquire,
                outcome: Outcome::Failed,
                ..
            } if window.contains(record.at_ns) => {
                let Some(&from_ns) = invoked.get(&(&*record.host, call)) else {
                    continue;
                };
                if waits.insert(&record.host) {
                    continue;
                }
                retries.push(Retry {
                    client: &record.host,
                    from_ns,
                    until_ns: record.at_ns,
                });
            }
            _ => {}
        }
    }
    retries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_message_is_in_the_spans_if_one_of_the_retries_owns_it(
            drawn in prop::collection::vec((0..2_usize, 0..50_u64, 0..9_u64), 0..20),
            sent_ns in 0..60_u64,
        ) {
            let attempt = |&(client, from_ns, takes_ns): &(usize, u64, u64)| Retry {
                client: ["c1", "c2"][client],
                from_ns,
                until_ns: from_ns + takes_ns,
            };
            let mut retries: Vec<Retry> = drawn.iter().map(attempt).collect();
            retries.sort_by_key(|retry| retry.until_ns);
            let spans = Spans::of(&retries);
            for (from, to) in [("c1", "n1"), ("n1", "c2"), ("n1", "n2")] {
                let message = Message {
                    from: from.into(),
                    to: to.into(),
                    sent_ns,
                    arrived_ns: None,
                    label: String::new(),
                };
                let is_owned = retries.iter().any(|retry| retry.owns(&message));
                prop_assert_eq!(spans.own(&message), is_owned);
            }
        }
    }
}
