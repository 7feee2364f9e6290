//! Links between hosts: latency, loss, partitions, and TCP's retransmission over them.
//!
//! The faults that apply to a segment are those at the instant at which it leaves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use locklab_history::{FaultyLinks, Name};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;

use super::agenda::Agenda;
use super::connection::{Connection, ConnectionId, End, Knows};
use super::flow::{Content, Timer, Transit};
use super::log::{Log, Segment};
use super::payload::Payload;
use super::power::Suspension;
use super::rules::{RuleId, Rules};
use crate::options::Options;

/// What the owner of the sockets has to do.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Connect to the process of this server, and say so with [`Network::connected`] or
    /// [`Network::refused`].
    Connect(ConnectionId, Name),
    /// The connection is established: greet its connector.
    Greet(ConnectionId),
    /// Write this to the socket of the end.
    Write(End, Payload),
    /// Nothing more will be written to the socket of the end.
    EndStream(End),
    /// Reset the socket of the end, if it has one.
    Reset(End),
    /// The end's host has lost power: let its socket stand still until its process is gone.
    Detach(End),
}

/// An event on the agenda.
#[derive(Debug)]
pub(super) enum Event {
    Arrival(Transit),
    /// The retransmission timer of a flow, if it still ends at this time.
    Retry(End, u64),
}

/// The network of a run. All times are nanoseconds of one clock.
pub(crate) struct Network {
    latency: Dist,
    loss: f64,
    random: Stream,
    rules: Rules,
    /// Hosts without power.
    pub(super) silent: BTreeSet<Name>,
    pub(super) suspended: BTreeMap<Name, Suspension>,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    pub(super) opened: u64,
    pub(super) agenda: Agenda<Event>,
    log: Log,
    pub(super) effects: VecDeque<Effect>,
}

impl Network {
    /// A network without connections.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            latency: options.latency,
            loss: options.loss,
            random: Stream::new(options.seed, "network"),
            rules: Rules::default(),
            silent: BTreeSet::new(),
            suspended: BTreeMap::new(),
            connections: BTreeMap::new(),
            opened: 0,
            agenda: Agenda::new(),
            log: Log::new(options.keep),
            effects: VecDeque::new(),
        }
    }

    /// When [`Network::advance`] has something to do.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.agenda.next_ns()
    }

    /// Handles what is due.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while let Some(event) = self.agenda.pop_due(now_ns) {
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
    pub(crate) fn install(&mut self, links: FaultyLinks) -> RuleId {
        self.rules.install(links)
    }

    /// Ends a fault of links.
    pub(crate) fn lift(&mut self, rule: RuleId) {
        self.rules.lift(rule);
    }

    /// The segments kept so far.
    pub(crate) fn take_messages(&mut self) -> Vec<Segment> {
        self.log.take()
    }

    #[cfg(test)]
    pub(super) fn random(&self) -> &Stream {
        &self.random
    }

    /// Sends a segment of `from`, or lets it wait until its host wakes.
    pub(super) fn leave(&mut self, from: End, content: Content, now_ns: u64) {
        let Some((sender, receiver)) = self.link(from) else {
            return;
        };
        if self.silent.contains(&sender) {
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
                from: sender,
                to: receiver,
                payload: payload.bytes().clone(),
            }),
            _ => None,
        };
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let flow = &mut connection.at_mut(from.side).flow;
        let transit = Transit {
            from,
            number: flow.number(),
            failures: 0,
            since_ns: now_ns,
            message,
            content,
        };
        if flow.is_holding() {
            flow.hold(transit);
        } else if self.gets_through(from) {
            self.depart(transit, now_ns);
        } else {
            self.hold(transit, now_ns);
        }
    }

    /// A transmission of `transit` did not get through: it will be sent again, unless its
    /// sender has gone or runs out of patience.
    pub(super) fn hold(&mut self, mut transit: Transit, now_ns: u64) {
        let from = transit.from;
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let end = connection.at_mut(from.side);
        // A reset is not sent again either: its sender knows no connection.
        if end.knows != Knows::Connection {
            return;
        }
        if transit.failures > 0 && transit.is_hopeless(now_ns) {
            self.give_up(&transit, now_ns);
            return;
        }
        transit.failures += 1;
        let at_ns = now_ns.saturating_add(transit.wait_ns());
        end.flow.hold(transit);
        if end.flow.timer.is_none() {
            end.flow.timer = Some(Timer {
                since_ns: now_ns,
                at_ns,
            });
            self.agenda.schedule(at_ns, Event::Retry(from, at_ns));
        }
    }

    /// Sends the held segments of a flow again.
    fn retry(&mut self, from: End, at_ns: u64, now_ns: u64) {
        let is_suspended = self
            .link(from)
            .is_some_and(|(sender, _)| self.suspended.contains_key(&sender));
        match self.flow_timer(from) {
            Some(timer) if timer.at_ns == at_ns && !is_suspended => {}
            _ => return,
        }
        while let Some(mut transit) = self.next_held(from) {
            if transit.failures == 0 {
                transit.since_ns = now_ns;
            }
            if !self.gets_through(from) {
                self.hold(transit, now_ns);
                return;
            }
            self.depart(transit, now_ns);
        }
    }

    fn flow_timer(&self, end: End) -> Option<Timer> {
        let connection = self.connections.get(&end.connection)?;
        connection.at(end.side).flow.timer
    }

    /// Takes the first of the held segments; the flow's timer stops.
    fn next_held(&mut self, end: End) -> Option<Transit> {
        let connection = self.connections.get_mut(&end.connection)?;
        let flow = &mut connection.at_mut(end.side).flow;
        flow.timer = None;
        flow.next_held()
    }

    /// The sender of a segment has retransmitted it for long enough: its connection is reset.
    fn give_up(&mut self, transit: &Transit, now_ns: u64) {
        let from = transit.from;
        self.effects.push_back(Effect::Reset(from));
        if transit.content.opens() {
            // The connector's SYN is as old as its server's SYN-ACK.
            self.effects.push_back(Effect::Reset(from.peer()));
            self.connections.remove(&from.connection);
        } else {
            self.forget(from, now_ns);
        }
    }

    pub(super) fn depart(&mut self, transit: Transit, now_ns: u64) {
        let Some((sender, receiver)) = self.link(transit.from) else {
            return;
        };
        // Within one host there is no network.
        let delay_ns = if sender == receiver {
            0
        } else {
            let latency_ns = self.latency.sample_ns(&mut self.random);
            latency_ns.saturating_add(self.rules.extra_ns(&sender, &receiver))
        };
        let Some(connection) = self.connections.get_mut(&transit.from.connection) else {
            return;
        };
        let flow = &mut connection.at_mut(transit.from.side).flow;
        let due_ns = flow.due_ns(now_ns.saturating_add(delay_ns));
        self.agenda.schedule(due_ns, Event::Arrival(transit));
    }

    /// A segment reaches its destination.
    pub(super) fn arrive(&mut self, transit: Transit, now_ns: u64) {
        let Some((_, receiver)) = self.link(transit.from) else {
            self.note_arrival(&transit, now_ns);
            return;
        };
        if self.silent.contains(&receiver) {
            self.hold(transit, now_ns);
        } else if let Some(suspension) = self.suspended.get_mut(&receiver) {
            suspension.inbox.push(transit);
        } else {
            self.note_arrival(&transit, now_ns);
            self.deliver(transit, now_ns);
        }
    }

    fn note_arrival(&mut self, transit: &Transit, now_ns: u64) {
        if let Some(message) = transit.message {
            self.log.arrived(message, now_ns);
        }
    }

    /// Delivers a segment to the kernel of its destination.
    fn deliver(&mut self, transit: Transit, now_ns: u64) {
        let (from, to) = (transit.from, transit.from.peer());
        let Some(connection) = self.connections.get_mut(&from.connection) else {
            return;
        };
        let knows = connection.at(to.side).knows;
        match transit.content {
            Content::Syn => self.syn_arrived(transit),
            Content::Rst => {
                if knows == Knows::Connection {
                    self.effects.push_back(Effect::Reset(to));
                    self.forget(to, now_ns);
                }
            }
            _ if knows != Knows::Connection => self.answer_with_reset(transit, now_ns),
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

    /// The receiver of `transit` knows no such connection. If its reset is lost, nothing
    /// acknowledges the segment, and the sender sends it again.
    pub(super) fn answer_with_reset(&mut self, transit: Transit, now_ns: u64) {
        let from = transit.from.peer();
        if !self.gets_through(from) {
            self.hold(transit, now_ns);
            return;
        }
        let reset = Transit {
            from,
            content: Content::Rst,
            number: 0,
            failures: 0,
            since_ns: now_ns,
            message: None,
        };
        self.depart(reset, now_ns);
    }

    /// Whether a transmission that `from` sends now arrives.
    fn gets_through(&mut self, from: End) -> bool {
        let Some((sender, receiver)) = self.link(from) else {
            return false;
        };
        if self.silent.contains(&receiver) {
            return false;
        }
        if sender == receiver {
            return true;
        }
        match self.rules.survival(&sender, &receiver) {
            None => false,
            Some(survives) => {
                let survives = survives * (1.0 - self.loss);
                survives >= 1.0 || self.random.chance(survives)
            }
        }
    }

    /// The hosts of a flow: sender and receiver.
    pub(super) fn link(&self, from: End) -> Option<(Name, Name)> {
        let connection = self.connections.get(&from.connection)?;
        let sender = connection.at(from.side).host.clone();
        Some((sender, connection.at(from.peer().side).host.clone()))
    }
}
