//! The contents of one picture, taken from the history and cut to its window.

use super::{
    chatter::is_chatter,
    faults::{FaultSpan, faults},
    holds::{Hold, Overlap, holds, overlaps},
    hosts::{Host, hosts},
    retries::{Retry, Spans, retries},
    window::Window,
};
use locklab_check::Violation;
use locklab_evidence::median;
use locklab_history::{Event, History, Message, Record, leases::Lease, timeline::Timeline};
use locklab_locks::KEY;

/// The contents to draw, in true time.
pub(super) struct Scene<'a> {
    pub(super) window: Window,
    pub(super) end_ns: u64,
    pub(super) hosts: Vec<Host<'a>>,
    pub(super) holds: Vec<Hold<'a>>,
    pub(super) overlaps: Vec<Overlap<'a>>,
    pub(super) faults: Vec<FaultSpan<'a>>,
    /// What the nodes held of the lock.
    pub(super) leases: Vec<&'a Lease<'a>>,
    /// The records of [`Event::Access`].
    pub(super) accesses: Vec<&'a Record>,
    /// The records of [`Event::Reached`].
    pub(super) points: Vec<&'a Record>,
    /// Messages that do not belong to retries.
    pub(super) messages: Vec<&'a Message>,
    pub(super) retries: Vec<Retry<'a>>,
    /// In the order in which they were sent.
    pub(super) retry_messages: Vec<&'a Message>,
    /// The number of messages in the window by which client libraries get to know servers. They are not drawn.
    pub(super) handshakes: usize,
    /// The number of other messages in the window that are not drawn.
    pub(super) left_out: usize,
    pub(super) violation: Option<&'a Violation>,
}

impl<'a> Scene<'a> {
    /// The scene of a history; `None` if nothing is recorded in it.
    pub(super) fn of(
        history: &'a History,
        violation: Option<&'a Violation>,
        leases: &'a [Lease<'a>],
    ) -> Option<Self> {
        let window = Window::of(history, violation)?;
        let meets = |from_ns, until_ns| from_ns <= window.to_ns && until_ns >= window.from_ns;
        let mut holds = holds(&Timeline::of(history));
        holds.retain(|hold| meets(hold.from_ns, hold.until_ns));
        let mut faults = faults(history);
        faults.retain(|fault| meets(fault.from_ns, fault.until_ns));
        // The other keys of a lock, such as a queue, are not drawn.
        let leases = leases.iter().filter(|lease| lease.key == KEY);
        let leases = leases.filter(|lease| meets(lease.from_ns, lease.until_ns));
        let retries = retries(history, window);
        let hosts = hosts(history, window);
        let shown = history.messages.iter().filter(|m| window.shows(m));
        let (chatter, shown): (Vec<_>, Vec<_>) = shown.partition(|m| is_chatter(m, &hosts));
        let handshakes = chatter.iter().filter(|m| m.is_handshake()).count();
        let retried = Spans::of(&retries);
        let (retry_messages, messages) =
            (shown.into_iter()).partition(|message| retried.own(message));
        let records = |wanted: fn(&Event) -> bool| {
            let within = history.records.iter().filter(|r| window.contains(r.at_ns));
            within.filter(|record| wanted(&record.event)).collect()
        };
        Some(Scene {
            window,
            end_ns: history.end_ns,
            hosts,
            overlaps: overlaps(&holds),
            holds,
            faults,
            leases: leases.collect(),
            accesses: records(|event| matches!(event, Event::Access { .. })),
            points: records(|event| matches!(event, Event::Reached { .. })),
            messages,
            retries,
            retry_messages,
            handshakes,
            left_out: chatter.len() - handshakes,
            violation,
        })
    }

    /// The instants in the window at which something happens, sorted; retries do not count.
    pub(super) fn instants(&self) -> Vec<u64> {
        let mut instants = vec![self.window.from_ns, self.window.to_ns];
        for message in &self.messages {
            instants.push(message.sent_ns);
            instants.extend(message.arrived_ns);
        }
        for hold in &self.holds {
            instants.extend([hold.from_ns, hold.covered_until_ns(), hold.until_ns]);
        }
        for fault in &self.faults {
            instants.extend([fault.from_ns, fault.until_ns]);
        }
        for lease in &self.leases {
            instants.extend([lease.from_ns, lease.until_ns]);
        }
        instants.extend(self.accesses.iter().map(|record| record.at_ns));
        if let Some(violation) = self.violation {
            instants.extend([violation.at_ns, violation.until_ns]);
        }
        instants.retain(|&at_ns| self.window.contains(at_ns));
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// A gap between instants that is longer than this is idle: three times the usual transit
    /// time of a message.
    pub(super) fn idle_ns(&self) -> u64 {
        match self.flight_ns() {
            0 => (self.window.to_ns - self.window.from_ns) / 12,
            flight_ns => flight_ns.saturating_mul(3),
        }
    }

    /// The usual transit time of a message: the median; 0 if there is none.
    pub(super) fn flight_ns(&self) -> u64 {
        let arrived = (self.messages.iter())
            .filter_map(|message| message.arrived_ns?.checked_sub(message.sent_ns));
        let mut flights: Vec<u64> = arrived.collect();
        flights.sort_unstable();
        median(&flights).unwrap_or(0)
    }
}
