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
