//! The interface between kernels and network: arriving packets go into a kernel, and outbound
//! packets leave the kernels once per instant.

use locklab_link::Delivery;
use turmoil_net::Packet;

use super::network::{Parcel, Transit};
use super::packet::{self, Route};
use super::watch::Moment;
use super::{Event, HostId, World};

impl World {
    /// Handles the arrival of a packet at its destination.
    pub(super) fn arrive(&mut self, transit: Transit) {
        let to = transit.segment.route.to;
        if self.is_reachable(to) {
            let Parcel {
                packet,
                route,
                number,
                ..
            } = &transit.segment;
            self.watch_arrival(*number, *route, packet);
        }
        if self.network.is_silent(to) {
            self.send_again(transit);
            return;
        }
        {
            let mut hosts = self.core.hosts.borrow_mut();
            let state = &mut hosts[to.index()];
            if state.suspensions > 0 {
                state.inbox.push(transit);
                return;
            }
        }
        self.deliver(transit);
    }

    /// Whether a packet that arrives at the host gets into its kernel at once.
    fn is_reachable(&self, host: HostId) -> bool {
        let is_suspended = self.core.hosts.borrow()[host.index()].suspensions > 0;
        !is_suspended && !self.network.is_silent(host)
    }

    /// Nothing acknowledges a packet that has arrived.
    pub(super) fn send_again(&mut self, transit: Transit) {
        if let Some((route, delivery)) = self.network.hold(transit, self.now_ns()) {
            self.follow(route, delivery);
        }
    }

    /// Does what follows from the delivery of a packet of `route`.
    pub(super) fn follow(&mut self, route: Route, delivery: Delivery<Parcel>) {
        match delivery {
            Delivery::Arrives { at_ns, transit } => {
                let arrival = Event::Arrival(Box::new(transit));
                self.core.schedule(at_ns, arrival);
            }
            Delivery::Retransmits { at_ns } => self.core.schedule(at_ns, Event::Retry(route)),
            Delivery::Queued | Delivery::Lost => {}
            Delivery::TimedOut(_) => self.deliver_reset(packet::reset_for_sender(route)),
        }
    }

    /// Delivers a packet to the kernel of its destination.
    pub(super) fn deliver(&mut self, transit: Transit) {
        let route = transit.segment.route;
        let which = (
            u64::from(route.from.0) << 16 | u64::from(route.from_port),
            u64::from(route.to.0) << 16 | u64::from(route.to_port),
        );
        self.trace("packet", which, packet::payload(&transit.segment.packet));
        self.watch(Moment::Receives(route.to));
        self.network.arrived(&transit, self.now_ns());
        self.needs_flush = true;
        let mut packet = transit.segment.packet;
        let flags = packet::flags(&packet);
        if flags.rst {
            // Of a connection that both ends have closed, what has arrived can still be read: a real kernel ignores
            // resets then (RFC 1337), and turmoil-net's would not. Its netstat does not list such a connection.
            if packet::socket(route.reverse()).is_some() {
                self.deliver_reset(packet);
            }
            return;
        }
        self.opening |= flags.syn && flags.ack;
        self.windows.correct(route, &mut packet);
        self.net.deliver(packet);
    }

    /// Delivers a reset to the kernel of its destination.
    ///
    /// A connection that is reset while its handshake lacks the last packet would stay in
    /// turmoil-net's tables and keep its port: there is no socket yet that its owner could close.
    /// So the handshake is completed first, and the program that accepts the connection finds it
    /// reset.
    pub(super) fn deliver_reset(&mut self, reset: Packet) {
        if let Some(last) =
            Route::of(&reset).and_then(|route| self.network.last_of_handshake(route))
        {
            cov_mark::hit!(a_reset_completes_the_handshake);
            self.net.deliver(last);
        }
        self.needs_flush = true;
        self.net.deliver(reset);
    }

    /// Takes the outbound packets from the kernels; returns whether that made a task ready or
    /// put an event on the event queue.
    pub(super) fn flush_kernels(&mut self) -> bool {
        if !std::mem::take(&mut self.needs_flush) {
            return false;
        }
        let opening = std::mem::take(&mut self.opening);
        let mut outbound = std::mem::take(&mut self.outbound);
        self.net.egress_all(&mut outbound);
        let mut any = !outbound.is_empty();
        let mut packets = outbound.drain(..);
        while let Some(packet) = packets.next() {
            self.windows.sent(&packet, self.network.under_way());
            if !packet::is_bare_ack(&packet) {
                let number = self.watch_departure(&packet);
                let sent = self.network.send(packet, number, self.now_ns());
                if let Some((route, delivery)) = sent {
                    self.follow(route, delivery);
                }
                continue;
            }
            // The next packet carries the same acknowledgement. It is not enough if the
            // receiver still waits for the end of its handshake: it would ignore the rest of
            // that packet.
            let repeated = { packets.as_slice().first() }
                .is_some_and(|next| packet::carries_ack_of(next, &packet));
            if repeated {
                if opening {
                    cov_mark::hit!(the_end_of_a_handshake_goes_alone);
                } else if !self.windows.ever_filled() {
                    continue;
                }
            }
            self.deliver_ack(packet, opening);
        }
        drop(packets);
        self.outbound = outbound;
        for update in self.windows.updates() {
            self.needs_flush = true;
            any = true;
            self.net.deliver(update);
        }
        // A kernel delivers what a host sends to itself without giving it out.
        any || !self.ready.is_empty()
    }

    /// Delivers an acknowledgement without data immediately.
    fn deliver_ack(&mut self, mut packet: Packet, opening: bool) {
        let Some(route) = Route::of(&packet) else {
            return;
        };
        if opening {
            self.network.handshake_ended(route);
        }
        // It frees room in the sender's buffer, but lets the sender send more only if the
        // sender had filled its window.
        if self.windows.ever_filled() {
            cov_mark::hit!(an_acknowledgement_makes_room);
            self.needs_flush = true;
            self.windows.correct(route, &mut packet);
        }
        if !self.network.is_silent(route.to) && !self.network.ends_at_orphan(route) {
            self.net.deliver(packet);
        }
    }
}
