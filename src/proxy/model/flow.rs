//! One direction of a connection: segments in order, and when TCP sends one again.

use std::collections::VecDeque;

use locklab_values::tcp::Phase;

use super::connection::End;
use super::log::MessageId;
use super::payload::Payload;

/// What a segment carries.
#[derive(Debug)]
pub(crate) enum Content {
    /// The connector wants to connect.
    Syn,
    /// The server accepts.
    SynAck,
    /// Data.
    Data(Payload),
    /// The end of the sender's stream.
    Fin,
    /// The sender knows nothing of the connection, or not any more.
    Rst,
}

impl Content {
    /// Whether it belongs to the opening handshake.
    pub(super) fn opens(&self) -> bool {
        matches!(self, Content::Syn | Content::SynAck)
    }
}

/// A segment that has left its sender.
#[derive(Debug)]
pub(super) struct Transit {
    /// Its sender.
    pub(super) from: End,
    pub(super) content: Content,
    /// Its place in its flow.
    pub(super) number: u64,
    /// How many of its transmissions did not get through.
    pub(super) failures: u32,
    /// When it was first transmitted.
    pub(super) since_ns: u64,
    pub(super) message: Option<MessageId>,
}

impl Transit {
    /// From a transmission that failed to the next.
    pub(super) fn wait_ns(&self) -> u64 {
        self.phase().wait_ns(self.failures)
    }

    /// Whether its sender does not try again after a transmission that fails at `now_ns`.
    pub(super) fn is_hopeless(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.since_ns) >= self.phase().patience_ns()
    }

    fn phase(&self) -> Phase {
        match self.content.opens() {
            true => Phase::Opening,
            false => Phase::Established,
        }
    }
}

/// A retransmission timer that runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    pub(super) since_ns: u64,
    pub(super) at_ns: u64,
}

/// The state of a flow.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// When its last segment arrives: later ones must not overtake it.
    last_due_ns: u64,
    /// Segments that did not get through yet, in order.
    held: VecDeque<Transit>,
    /// Runs if and only if segments are held.
    pub(super) timer: Option<Timer>,
    sent: u64,
}

impl Flow {
    /// The place of the next segment.
    pub(super) fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// When a segment arrives that would arrive at `due_ns` if it were alone.
    pub(super) fn due_ns(&mut self, due_ns: u64) -> u64 {
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.last_due_ns
    }

    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether it holds a segment of the handshake.
    pub(super) fn holds_opening(&self) -> bool {
        self.held.front().is_some_and(|first| first.content.opens())
    }

    /// Holds a segment back, at its place.
    pub(super) fn hold(&mut self, transit: Transit) {
        let number = transit.number;
        let place = self.held.partition_point(|held| held.number < number);
        self.held.insert(place, transit);
    }

    pub(super) fn next_held(&mut self) -> Option<Transit> {
        self.held.pop_front()
    }

    /// Drops what is held.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.timer = None;
    }

    /// Its sender stood still from `since_ns` until `now_ns`: its timers run on from there.
    /// Returns when the retransmission timer ends now.
    pub(super) fn stood_still(&mut self, since_ns: u64, now_ns: u64) -> Option<u64> {
        let timer = self.timer.as_mut()?;
        let lost_ns = now_ns.saturating_sub(since_ns.max(timer.since_ns));
        timer.at_ns = timer.at_ns.saturating_add(lost_ns);
        for transit in &mut self.held {
            transit.since_ns = transit.since_ns.saturating_add(lost_ns).min(now_ns);
        }
        Some(timer.at_ns)
    }
}
