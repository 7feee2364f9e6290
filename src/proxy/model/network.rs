//! The network between the sockets of a run: data goes over the links of `locklab_link`, and an
//! arrival becomes an operation on a socket.

use std::collections::VecDeque;

use locklab_history::Name;
use locklab_link::{Delivery, EventQueue, Hop, Kind, LinkRule, Links, RuleId};
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;

use super::connection::{Connection, SocketState};
use super::end::{ConnectionId, End};
use super::flow::{Content, Parcel, Transit};
use super::log::{Dropped, Log, Segment};
use super::payload::Payload;
use super::suspension::Suspension;
use crate::options::Options;
use crate::watch::{Passing, Ruling, Watch};

/// An operation for the owner of the sockets.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Connect to the process of its server, and say so with [`Network::connected`] or
    /// [`Network::refused`].
    Connect(ConnectionId),
    /// The connection is established: greet its connector.
    Greet(ConnectionId),
    /// Write this to the socket of the end.
    Write(End, Payload),
    /// Nothing more will be written to the socket of the end.
    EndStream(End),
    /// Reset the socket of the end, if it has one.
    Reset(End),
    /// The end's host has lost power: freeze its socket until its process has ended.
    Detach(End),
}

/// An event on the event queue.
#[derive(Debug)]
pub(super) enum Event {
    Arrival(Transit),
    /// The retransmission timer of a flow, if it still ends at this time.
    Retry(End, u64),
}

/// The network of a run. All times are nanoseconds of one clock.
pub(crate) struct Network {
    pub(super) links: Links<Name>,
    pub(super) suspended: VecMap<Name, Suspension>,
    pub(super) connections: VecMap<ConnectionId, Connection>,
    pub(super) opened: u64,
    pub(super) event_queue: EventQueue<Event>,
    log: Log,
    watch: Option<Box<dyn Watch>>,
    pub(super) effects: VecDeque<Effect>,
}

impl Network {
    /// A network without connections.
    pub(crate) fn new(options: &Options) -> Self {
        let random = Stream::new(options.seed, "network");
        Self {
            links: Links::new(options.latency.clone(), options.loss, random),
            suspended: VecMap::new(),
            connections: VecMap::new(),
            opened: 0,
            event_queue: EventQueue::new(),
            log: Log::new(options.keep),
            watch: None,
            effects: VecDeque::new(),
        }
    }

    /// When [`Network::advance`] has something to do.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.event_queue.next_ns()
    }

    /// Handles what is due.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while let Some(event) = self.event_queue.pop_due(now_ns) {
            match event {
                Event::Arrival(transit) => self.arrive(transit, now_ns),
                Event::Retry(end, at_ns) => self.retry(end, at_ns, now_ns),
            }
        }
    }

    /// The next thing to do with sockets.
    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Installs a fault of links.
    pub(crate) fn install(&mut self, rule: LinkRule<Name>) -> RuleId {
        self.links.install(rule)
    }

    /// Ends a fault of links.
    pub(crate) fn lift(&mut self, rule: RuleId) {
        self.links.lift(rule);
    }

    /// Whether no fault is in force.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.links.are_undisturbed() && self.suspended.is_empty()
    }

    /// Lets somebody see what passes.
    pub(crate) fn watch(&mut self, watch: Box<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// The segments kept so far.
    pub(crate) fn take_messages(&mut self) -> Vec<Segment> {
        self.log.take()
    }

    /// The segments that were to be kept, and for which there was no room.
    pub(crate) fn dropped(&self) -> Option<Dropped> {
        self.log.dropped()
    }

    #[cfg(test)]
    pub(super) fn random(&self) -> &Stream {
        self.links.random()
    }

    /// Sends a segment of `from`, or lets it wait until its host wakes.
    pub(super) fn leave(&mut self, from: End, content: Content, now_ns: u64) {
        let Some((sender, receiver)) = self.link(from) else {
            return;
        };
        if self.links.is_silent(&sender) {
            return;
        }
        if let Some(suspension) = self.suspended.get_mut(&sender) {
            suspension.outbox.push_back((from, content));
            return;
        }
        let message = match &content {
            Content::Data(payload) if sender != receiver => self.log.sent(Segment {
                sent_ns: now_ns,
                arrived_ns: None,
                from: sender.clone(),
                to: receiver.clone(),
                connection: from.connection.number(),
                payload: payload.bytes().clone(),
            }),
            _ => None,
        };
        if let (Content::Data(payload), Some(watch)) = (&content, &mut self.watch)
            && sender != receiver
        {
            watch.leaves(passing(from, &sender, &receiver, payload));
        }
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let kind = content.kind();
        let parcel = Parcel {
            from,
            content,
            message,
        };
        let hop = Hop {
            from: &sender,
            to: &receiver,
        };
        let flow = &mut connection.at_mut(from.side).flow;
        let delivery = flow.send(&mut self.links, &hop, (parcel, kind), now_ns);
        self.follow(from, delivery, now_ns);
    }

    /// Holds `transit`, whose transmission did not get through; it will be retransmitted, unless
    /// its sender is gone or gives up.
    pub(super) fn hold(&mut self, transit: Transit, now_ns: u64) {
        let from = transit.segment.from;
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let end = connection.at_mut(from.side);
        if end.socket == SocketState::Open {
            let delivery = end.flow.failed(transit, now_ns);
            self.follow(from, delivery, now_ns);
        }
    }

    /// Does what follows from the delivery of a segment of `from`.
    fn follow(&mut self, from: End, delivery: Delivery<Parcel>, now_ns: u64) {
        match delivery {
            Delivery::Arrives { at_ns, transit } => {
                self.event_queue.schedule(at_ns, Event::Arrival(transit));
            }
            Delivery::Retransmits { at_ns } => {
                self.event_queue.schedule(at_ns, Event::Retry(from, at_ns))
            }
            Delivery::Queued | Delivery::Lost => {}
            Delivery::TimedOut(transit) => self.give_up(&transit, now_ns),
        }
    }

    /// Sends the held segments of a flow again.
    fn retry(&mut self, from: End, at_ns: u64, now_ns: u64) {
        let Some((sender, receiver)) = self.link(from) else {
            return;
        };
        if self.suspended.contains_key(&sender) {
            return;
        }
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let hop = Hop {
            from: &sender,
            to: &receiver,
        };
        let flow = &mut connection.at_mut(from.side).flow;
        for delivery in flow.retry(&mut self.links, &hop, at_ns, now_ns) {
            self.follow(from, delivery, now_ns);
        }
    }

    /// The sender of a segment has retransmitted it for long enough: its connection is reset.
    fn give_up(&mut self, transit: &Transit, now_ns: u64) {
        let from = transit.segment.from;
        self.effects.push_back(Effect::Reset(from));
        if transit.segment.content.opens() {
            // The connector's SYN is as old as its server's SYN-ACK.
            self.effects.push_back(Effect::Reset(from.peer()));
            self.connections.remove(&from.connection);
        } else {
            self.forget(from, now_ns);
        }
    }

    /// A segment reaches its destination.
    pub(super) fn arrive(&mut self, transit: Transit, now_ns: u64) {
        let Some((sender, receiver)) = self.link(transit.segment.from) else {
            // Both ends have forgotten the connection.
            let receiver = transit.segment.message.and_then(|id| self.log.receiver(id));
            if receiver.is_some_and(|host| !self.links.is_silent(host)) {
                self.note_arrival(&transit, now_ns);
            }
            return;
        };
        if self.links.is_silent(&receiver) {
            self.hold(transit, now_ns);
        } else if let Some(suspension) = self.suspended.get_mut(&receiver) {
            suspension.inbox.push(transit);
        } else if self.is_stopped(&transit, &sender, &receiver) {
            self.suspend(&receiver, now_ns);
            if let Some(suspension) = self.suspended.get_mut(&receiver) {
                suspension.inbox.push(transit);
            }
        } else {
            self.note_arrival(&transit, now_ns);
            self.deliver(transit, now_ns);
        }
    }

    /// Whether the watch lets a segment wait.
    fn is_stopped(&mut self, transit: &Transit, sender: &Name, receiver: &Name) -> bool {
        let (Content::Data(payload), Some(watch)) = (&transit.segment.content, &mut self.watch)
        else {
            return false;
        };
        let passing = passing(transit.segment.from, sender, receiver, payload);
        sender != receiver && watch.arrives(passing) == Ruling::Waits
    }

    fn note_arrival(&mut self, transit: &Transit, now_ns: u64) {
        if let Some(message) = transit.segment.message {
            self.log.arrived(message, now_ns);
        }
    }

    /// Delivers a segment to the kernel of its destination.
    fn deliver(&mut self, transit: Transit, now_ns: u64) {
        let from = transit.segment.from;
        let to = from.peer();
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let socket = connection.at(to.side).socket;
        match transit.segment.content {
            Content::Syn => self.syn_arrived(transit),
            Content::Rst => {
                if socket == SocketState::Open {
                    self.effects.push_back(Effect::Reset(to));
                    self.forget(to, now_ns);
                }
            }
            _ if socket != SocketState::Open => self.answer_with_reset(transit, now_ns),
            Content::SynAck => self.syn_ack_arrived(from.connection, now_ns),
            Content::Data(payload) => self.effects.push_back(Effect::Write(to, payload)),
            Content::Fin => {
                self.effects.push_back(Effect::EndStream(to));
                connection.at_mut(from.side).has_ended = true;
                if connection.is_over() {
                    self.connections.remove(&from.connection);
                }
            }
        }
    }

    /// Answers a segment for an unknown connection with a reset. If the reset is lost, nothing
    /// acknowledges the segment, and the sender retransmits it.
    pub(super) fn answer_with_reset(&mut self, transit: Transit, now_ns: u64) {
        let from = transit.segment.from.peer();
        let Some((sender, receiver)) = self.link(from) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let parcel = Parcel {
            from,
            content: Content::Rst,
            message: None,
        };
        let hop = Hop {
            from: &sender,
            to: &receiver,
        };
        let flow = &mut connection.at_mut(from.side).flow;
        match flow.send(&mut self.links, &hop, (parcel, Kind::Reset), now_ns) {
            Delivery::Lost => self.hold(transit, now_ns),
            delivery => self.follow(from, delivery, now_ns),
        }
    }

    /// The hosts of a flow: sender and receiver.
    pub(super) fn link(&self, from: End) -> Option<(Name, Name)> {
        let connection = self.connections.get(&from.connection)?;
        let sender = connection.at(from.side).host.clone();
        Some((sender, connection.at(from.peer().side).host.clone()))
    }
}

fn passing<'a>(
    from: End,
    sender: &'a Name,
    receiver: &'a Name,
    payload: &'a Payload,
) -> Passing<'a> {
    Passing {
        from: sender,
        to: receiver,
        connection: from.connection.number(),
        payload: payload.bytes(),
    }
}
