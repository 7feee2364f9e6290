//! Cuts of power and suspensions of hosts: their beginning and their end.

use locklab_history::Name;

use super::connection::SocketState;
use super::end::{End, Side};
use super::network::{Effect, Event, Network};
use super::suspension::Suspension;

impl Network {
    /// Cuts the power of `host`.
    pub(crate) fn cut_power(&mut self, host: &Name, now_ns: u64) {
        if !self.links.silence(host.clone()) {
            return;
        }
        let mut unanswered = Vec::new();
        if let Some(suspension) = self.suspended.get_mut(host) {
            unanswered = std::mem::take(&mut suspension.inbox);
        }
        for end in self.ends_at(host) {
            self.effects.push_back(Effect::Detach(end));
            self.forget(end, now_ns);
        }
        if let Some(suspension) = self.suspended.get_mut(host) {
            suspension.outbox.clear();
        }
        for transit in unanswered {
            self.hold(transit, now_ns);
        }
    }

    /// Ends [`Network::cut_power`].
    pub(crate) fn restore_power(&mut self, host: &Name) {
        self.links.unsilence(host);
    }

    /// Suspends `host`.
    pub(crate) fn suspend(&mut self, host: &Name, now_ns: u64) {
        let suspension = self
            .suspended
            .entry(host.clone())
            .or_insert_with(|| Suspension::since(now_ns));
        suspension.depth += 1;
    }

    /// Ends one [`Network::suspend`].
    pub(crate) fn wake(&mut self, host: &Name, now_ns: u64) {
        let Some(suspension) = self.suspended.get_mut(host) else {
            return;
        };
        suspension.depth -= 1;
        if suspension.depth > 0 {
            return;
        }
        let Some(suspension) = self.suspended.remove(host) else {
            return;
        };
        for end in self.ends_at(host) {
            self.restart_timer(end, suspension.since_ns, now_ns);
        }
        for transit in suspension.inbox {
            self.arrive(transit, now_ns);
        }
        for (end, content) in suspension.outbox {
            self.leave(end, content, now_ns);
        }
    }

    /// A suspended host's retransmission timer runs again.
    fn restart_timer(&mut self, end: End, suspended_ns: u64, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&end.connection) else {
            return;
        };
        let flow = &mut connection.at_mut(end.side).flow;
        if let Some(at_ns) = flow.resume_timers(suspended_ns, now_ns) {
            self.event_queue.schedule(at_ns, Event::Retry(end, at_ns));
        }
    }

    /// The ends at `host` whose kernel has the connection.
    fn ends_at(&self, host: &Name) -> Vec<End> {
        let mut ends = Vec::new();
        for (&connection, state) in &self.connections {
            for side in [Side::Connector, Side::Server] {
                let end = state.at(side);
                if end.host == *host && end.socket == SocketState::Open {
                    ends.push(End { connection, side });
                }
            }
        }
        ends
    }
}
