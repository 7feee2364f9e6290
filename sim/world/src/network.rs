//! Links between hosts: latency, loss, partitions, and TCP's retransmission over them.
//!
//! turmoil-net's kernels implement TCP and leave time to us. They retransmit a segment by
//! counting calls, not by time, so their own retransmission is switched off. This module models
//! what a retransmitting sender looks like from outside: a segment that does not get through is
//! sent again after a timeout, later after twice that, and so on (`tcp.rs`); all later data of its
//! connection waits behind it, since TCP delivers in order; when the retransmission limit is
//! reached, the sender's connection is reset.
//!
//! The faults that apply to a packet are those at the instant at which it leaves.
//! Acknowledgements without data arrive immediately, whatever the link: with retransmission
//! off, only the sender's buffer waits for them. A program can see two effects of this: a
//! connection may be accepted one way earlier than on a real network, and a partition of the
//! reverse direction alone never makes a sender reset its connection.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_values::tcp::Phase;
use turmoil_net::{NetstatState, Packet};

use super::HostId;
use super::packet::{
    Route, acknowledgement, address_of, flags, payload, reset_for_sender, segment, socket,
};
use locklab_plant::plant;

/// The effect of a rule on the packets that match it.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEffect {
    /// Nothing gets through.
    Cut,
    /// Every packet takes longer.
    Slow {
        /// Nanoseconds, one way.
        extra_ns: u64,
    },
    /// Each transmission is lost with this probability.
    Lossy {
        /// From 0 to 1.
        probability: f64,
    },
}

/// A fault of the links from some hosts to others, in that direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRule {
    /// Senders.
    pub from: Vec<HostId>,
    /// Receivers.
    pub to: Vec<HostId>,
    /// Whether the reverse direction is affected too.
    pub both_ways: bool,
    /// The effect on packets.
    pub effect: LinkEffect,
}

/// Identifies an installed rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleId(u64);

/// A message that a run kept for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Virtual time at which it first left, in nanoseconds.
    pub sent_ns: u64,
    /// Virtual time at which it arrived; `None` if it never did.
    pub arrived_ns: Option<u64>,
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// Its contents.
    pub payload: Bytes,
}

/// A packet in transit.
pub(super) struct Transit {
    pub(super) packet: Packet,
    pub(super) route: Route,
    /// Its index in the message log.
    message: Option<usize>,
    _load: Load,
}

impl Transit {
    /// The packet, after its transit.
    pub(super) fn into_packet(self) -> Packet {
        self.packet
    }
}

/// The packet's share of the bytes in transit; dropping it subtracts that share.
struct Load {
    total: Rc<Cell<usize>>,
    bytes: usize,
}

impl Load {
    fn new(total: &Rc<Cell<usize>>, bytes: usize) -> Self {
        total.set(total.get() + bytes);
        Self {
            total: total.clone(),
            bytes,
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.total.set(self.total.get() - self.bytes);
    }
}

/// The next event for a packet, which the world puts on its agenda.
pub(super) enum Departure {
    /// The packet arrives at this time.
    Arrives { at_ns: u64, transit: Transit },
    /// The packet, and those behind it, are sent again at this time.
    RetryAt { at_ns: u64, route: Route },
}

/// The state of one direction of a connection.
#[derive(Default)]
struct Flow {
    /// When its last packet arrives: later packets must not overtake it.
    last_due_ns: u64,
    /// Packets that did not get through yet, in order.
    held: VecDeque<Transit>,
    /// The number of failed attempts to send the first of these.
    tries: u32,
    /// When it was first sent.
    since_ns: u64,
    /// The sequence number of its SYN-ACK, until that is acknowledged.
    half_open: Option<u32>,
}

pub(super) struct Network {
    latency: Dist,
    loss: f64,
    random: Stream,
    rules: Vec<(RuleId, LinkRule)>,
    next_rule: u64,
    flows: BTreeMap<Route, Flow>,
    /// Hosts without power: they neither send nor receive.
    silent: Vec<bool>,
    /// Routes to connections that a killed process left behind and that its kernel was made to
    /// forget.
    orphans: BTreeSet<Route>,
    messages: Option<Vec<SentMessage>>,
    /// Bytes of data in transit.
    under_way: Rc<Cell<usize>>,
}

impl Network {
    pub(super) fn new(latency: Dist, loss: f64, random: Stream, hosts: usize, keep: bool) -> Self {
        Self {
            latency,
            loss,
            random,
            rules: Vec::new(),
            next_rule: 0,
            flows: BTreeMap::new(),
            silent: vec![false; hosts],
            orphans: BTreeSet::new(),
            messages: keep.then(Vec::new),
            under_way: Rc::default(),
        }
    }

    /// The number of bytes of data in transit.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.get()
    }

    /// Sends `packet` at `now_ns`.
    pub(super) fn send(&mut self, packet: Packet, now_ns: u64) -> Option<Departure> {
        let route = Route::of(&packet)?;
        if self.is_silent(route.from) {
            return None;
        }
        let message = self.remember(&packet, route, now_ns);
        let transit = Transit {
            _load: Load::new(&self.under_way, payload(&packet).len()),
            packet,
            route,
            message,
        };
        let flags = flags(&transit.packet);
        if flags.syn {
            self.orphans.remove(&route);
        }
        let flow = self.flows.entry(route).or_default();
        if flags.syn && flags.ack {
            flow.half_open = segment(&transit.packet).map(|segment| segment.seq);
        }
        if flags.rst {
            // The connection is gone, and with it the data still to be sent. A reset is not
            // retransmitted.
            flow.held.clear();
            return self
                .gets_through(route)
                .then(|| self.depart(transit, now_ns));
        }
        if !flow.held.is_empty() {
            flow.held.push_back(transit);
            return None;
        }
        if self.gets_through(route) {
            return Some(self.depart(transit, now_ns));
        }
        self.hold(transit, now_ns)
    }

    /// Holds back a packet that did not get through; returns when to try again, unless other
    /// packets are already held.
    pub(super) fn hold(&mut self, transit: Transit, now_ns: u64) -> Option<Departure> {
        if flags(&transit.packet).rst {
            return None;
        }
        let route = transit.route;
        let wait_ns = phase(&transit.packet).wait_ns(1);
        let flow = self.flows.entry(route).or_default();
        let is_first = flow.held.is_empty();
        flow.held.push_back(transit);
        if !is_first {
            return None;
        }
        flow.tries = 1;
        flow.since_ns = now_ns;
        Some(Departure::RetryAt {
            at_ns: now_ns + wait_ns,
            route,
        })
    }

    /// Sends the held packets of `route` again. `Err` carries the reset for their sender when
    /// the retransmission limit is reached.
    pub(super) fn retry(&mut self, route: Route, now_ns: u64) -> Result<Vec<Departure>, Packet> {
        let mut departures = Vec::new();
        let mut delivered = false;
        while let Some(transit) = self
            .flows
            .get_mut(&route)
            .and_then(|flow| flow.held.pop_front())
        {
            if flags(&transit.packet).syn && !is_still_connecting(route) {
                continue;
            }
            if self.gets_through(route) {
                departures.push(self.depart(transit, now_ns));
                delivered = true;
                continue;
            }
            let phase = phase(&transit.packet);
            let flow = self.flows.entry(route).or_default();
            if delivered {
                flow.tries = 0;
                flow.since_ns = now_ns;
            }
            if now_ns - flow.since_ns >= phase.patience_ns() {
                flow.held.clear();
                return Err(reset_for_sender(route));
            }
            flow.tries += 1;
            let wait_ns = phase.wait_ns(flow.tries);
            flow.held.push_front(transit);
            departures.push(Departure::RetryAt {
                at_ns: now_ns + wait_ns,
                route,
            });
            break;
        }
        Ok(departures)
    }

    /// Notes an arrival in the message log.
    pub(super) fn arrived(&mut self, transit: &Transit, now_ns: u64) {
        if let (Some(messages), Some(index)) = (&mut self.messages, transit.message) {
            messages[index].arrived_ns = Some(now_ns);
        }
    }

    pub(super) fn install(&mut self, rule: LinkRule) -> RuleId {
        let id = RuleId(self.next_rule);
        self.next_rule += 1;
        self.rules.push((id, rule));
        id
    }

    pub(super) fn lift(&mut self, id: RuleId) {
        self.rules.retain(|(installed, _)| *installed != id);
    }

    pub(super) fn is_silent(&self, host: HostId) -> bool {
        self.silent[host.index()]
    }

    pub(super) fn set_silent(&mut self, host: HostId, silent: bool) {
        self.silent[host.index()] = silent;
    }

    /// Drops the packets that a host still had to send: it has lost power.
    pub(super) fn forget(&mut self, host: HostId) {
        self.flows.retain(|route, _| route.from != host);
        self.orphans.retain(|route| route.to != host);
    }

    /// Whether an acknowledgement along `route` is for a connection that was forgotten here,
    /// but that on a real machine would outlive its process and wait only for this
    /// acknowledgement.
    pub(super) fn ends_at_orphan(&self, route: Route) -> bool {
        self.orphans.contains(&route)
    }

    /// Resets which, delivered to the kernel of `host`, make it forget all its connections.
    /// Packets that its peers send later match no connection and are answered with a reset.
    pub(super) fn resets_for(&mut self, host: HostId) -> Vec<Packet> {
        let own: Vec<Route> = turmoil_net::netstat(address_of(host))
            .entries
            .iter()
            .filter_map(|entry| Route::between(entry.local, entry.peer?))
            .collect();
        self.orphans.extend(own.iter().map(|route| route.reverse()));
        own.into_iter().map(reset_for_sender).collect()
    }

    /// The acknowledgement that the other end of `route` has been waiting for since it sent its
    /// SYN-ACK, if it still is. Clears that state.
    pub(super) fn last_of_handshake(&mut self, route: Route) -> Option<Packet> {
        let seq = self.flows.get_mut(&route.reverse())?.half_open.take()?;
        let ack = seq.wrapping_add(1);
        Some(acknowledgement(route, ack, u16::MAX))
    }

    /// An acknowledgement was sent along `route`.
    pub(super) fn handshake_ended(&mut self, route: Route) {
        if let Some(flow) = self.flows.get_mut(&route.reverse()) {
            flow.half_open = None;
        }
    }

    /// The number of messages kept.
    pub(super) fn messages(&self) -> usize {
        self.messages.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn take_messages(&mut self) -> Vec<SentMessage> {
        self.messages.take().unwrap_or_default()
    }

    /// Whether a transmission sent now along `route` arrives.
    fn gets_through(&mut self, route: Route) -> bool {
        if self.is_silent(route.to) {
            return false;
        }
        let mut survives = 1.0 - self.loss;
        for (_, rule) in self.rules.iter().filter(|(_, rule)| rule.concerns(route)) {
            match rule.effect {
                LinkEffect::Cut if plant("cut-lets-through") => {}
                LinkEffect::Cut => return false,
                LinkEffect::Lossy { .. } if plant("loss-loses-nothing") => {}
                LinkEffect::Lossy { probability } => survives *= 1.0 - probability,
                LinkEffect::Slow { .. } => {}
            }
        }
        survives >= 1.0 || self.random.chance(survives)
    }

    fn depart(&mut self, transit: Transit, now_ns: u64) -> Departure {
        let extra_ns = self
            .rules
            .iter()
            .filter(|(_, rule)| rule.concerns(transit.route))
            .map(|(_, rule)| match rule.effect {
                LinkEffect::Slow { .. } if plant("slow-link-adds-nothing") => 0,
                LinkEffect::Slow { extra_ns } => extra_ns,
                _ => 0,
            })
            .fold(0, u64::saturating_add);
        let latency_ns = self.latency.sample_ns(&mut self.random);
        let due_ns = now_ns.saturating_add(latency_ns).saturating_add(extra_ns);
        let flow = self.flows.entry(transit.route).or_default();
        flow.last_due_ns = flow.last_due_ns.max(due_ns);
        Departure::Arrives {
            at_ns: flow.last_due_ns,
            transit,
        }
    }

    fn remember(&mut self, packet: &Packet, route: Route, now_ns: u64) -> Option<usize> {
        let messages = self.messages.as_mut()?;
        let payload = &segment(packet)?.payload;
        if payload.is_empty() {
            return None;
        }
        messages.push(SentMessage {
            sent_ns: now_ns,
            arrived_ns: None,
            from: route.from,
            to: route.to,
            payload: payload.clone(),
        });
        Some(messages.len() - 1)
    }
}

impl LinkRule {
    fn concerns(&self, route: Route) -> bool {
        let forth = self.from.contains(&route.from) && self.to.contains(&route.to);
        let back = self.both_ways
            && !plant("two-ways-are-one")
            && self.from.contains(&route.to)
            && self.to.contains(&route.from);
        forth || back
    }
}

fn phase(packet: &Packet) -> Phase {
    match flags(packet).syn {
        true => Phase::Opening,
        false => Phase::Established,
    }
}

/// Whether the socket of the handshake on `route` is still connecting: a program that gave up
/// connecting retransmits nothing.
fn is_still_connecting(route: Route) -> bool {
    socket(route).is_some_and(|entry| {
        matches!(
            entry.state,
            Some(NetstatState::SynSent | NetstatState::SynReceived)
        )
    })
}
