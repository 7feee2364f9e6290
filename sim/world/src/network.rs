//! The network between the kernels: carries their packets over the links of `locklab_link`.
//!
//! turmoil-net's kernels implement TCP and leave time to us. Properties of turmoil-net 0.1 that shape the
//! code:
//!
//! - It retransmits by counting calls of `egress_all`, not by time, so its retransmission is turned off.
//!   `locklab-link` models what a retransmitting sender looks like from outside: a segment that does not
//!   get through is sent again at the times at which Linux does it (`src/values/tcp.rs`), and later data
//!   of the connection waits behind it. After Linux's limits (131 s to connect, 924.6 s for data) the
//!   sender's connection is reset.
//! - Its receiver drops segments that arrive out of order, so no packet is due before its predecessor on
//!   the same flow.
//! - Acknowledgements without data arrive immediately on every link, since with retransmission off only
//!   the sender's buffer waits for them. A program can see two effects of this: a connection may be
//!   accepted one way earlier than on a real network, and a partition of the reverse direction alone
//!   never makes a sender reset its connection. They seldom justify a second `egress_all` in the same
//!   instant. The exceptions (the last packet of a handshake, a sender whose window was full) are each
//!   tied to a test by a coverage mark (`cov_mark`).
//! - It has no TIME-WAIT, and a reset takes what has arrived and was not read yet, even of a connection
//!   that both ends have closed. A receiver that makes room after that says so, and is answered with a
//!   reset. The world does not deliver it, as a real kernel ignores it.
//! - It has no crash. `World::crash` silences the host, drops its tasks, and delivers a reset into the
//!   host's own kernel for each of its connections. The rebooted kernel then knows none of them and
//!   answers their next segment with a reset.
//! - It executes about four fifths of the instructions of an echo run, and about half of those of a run
//!   of K1. Almost half of its share is the lookup of addresses and handles in its tables, most of that
//!   SipHash; a third of an echo run are its sweeps over all sockets of all hosts at every `egress_all`.
//!   Neither can be changed from outside. This is why the echo workload takes about twice madsim's time,
//!   where the aim was parity: madsim moves messages through a queue and simulates no TCP. The README
//!   has the measured ratios; `cargo xtask bench instructions` counts, and leaves profiles in
//!   `target/locklab/instructions/`.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use locklab_link::{Delivery, Flow, Kind, LinkRule, Links, RuleId};
use locklab_vecmap::{VecMap, VecSet};
use turmoil_net::{NetstatEntry, NetstatState, Packet, TcpFlags};

use super::HostId;
use super::packet::{
    Route, acknowledgement, address_of, flags, payload, reset_for_sender, segment, socket,
};

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

/// A packet in transit, or to be retransmitted.
pub(super) type Transit = locklab_link::Transit<Parcel>;

/// The data of a segment on a link.
pub(super) struct Parcel {
    pub(super) packet: Packet,
    pub(super) route: Route,
    /// Its index in the message log.
    message: Option<usize>,
    /// Its number, if it has data and the world is watched.
    pub(super) number: Option<u32>,
    _load: Load,
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

/// The state of one direction of a connection.
#[derive(Default)]
struct Direction {
    flow: Flow<Parcel>,
    /// The sequence number of its SYN-ACK, until that is acknowledged.
    half_open: Option<u32>,
}

pub(super) struct Network {
    links: Links<HostId>,
    directions: VecMap<Route, Direction>,
    /// Suspended hosts, and since when.
    suspended: VecMap<HostId, u64>,
    /// Routes to connections of a killed process that were removed from its kernel.
    orphans: VecSet<Route>,
    messages: Option<Vec<SentMessage>>,
    /// Bytes of data in transit.
    under_way: Rc<Cell<usize>>,
}

impl Network {
    pub(super) fn new(links: Links<HostId>, keep: bool) -> Self {
        Self {
            links,
            directions: VecMap::new(),
            suspended: VecMap::new(),
            orphans: VecSet::new(),
            messages: keep.then(Vec::new),
            under_way: Rc::default(),
        }
    }

    /// The number of bytes of data in transit.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.get()
    }

    /// Sends `packet` at `now_ns`. A watcher knows it by `number`.
    pub(super) fn send(
        &mut self,
        packet: Packet,
        number: Option<u32>,
        now_ns: u64,
    ) -> Option<(Route, Delivery<Parcel>)> {
        let route = Route::of(&packet)?;
        if self.is_silent(route.from) {
            return None;
        }
        let message = self.remember(&packet, route, now_ns);
        let parcel = Parcel {
            _load: Load::new(&self.under_way, payload(&packet).len()),
            packet,
            route,
            message,
            number,
        };
        let flags = flags(&parcel.packet);
        if flags.syn {
            self.orphans.remove(&route);
        }
        let direction = self.directions.entry(route).or_default();
        if flags.syn && flags.ack {
            direction.half_open = segment(&parcel.packet).map(|segment| segment.seq);
        }
        let kind = match flags {
            TcpFlags { rst: true, .. } => Kind::Reset,
            TcpFlags { syn: true, .. } => Kind::Opening,
            _ => Kind::Data,
        };
        let flow = &mut direction.flow;
        let delivery = flow.send(&mut self.links, &route.hop(), (parcel, kind), now_ns);
        Some((route, delivery))
    }

    /// Holds a packet that arrived but was not acknowledged; it will be retransmitted, unless its
    /// sender has lost power.
    pub(super) fn hold(
        &mut self,
        transit: Transit,
        now_ns: u64,
    ) -> Option<(Route, Delivery<Parcel>)> {
        let route = transit.segment.route;
        let direction = self.directions.get_mut(&route)?;
        Some((route, direction.flow.failed(transit, now_ns)))
    }

    /// Retransmits the held packets of `route`, if its timer ends at `now_ns` and its sender is not
    /// suspended.
    pub(super) fn retry(&mut self, route: Route, now_ns: u64) -> Vec<Delivery<Parcel>> {
        if self.suspended.contains_key(&route.from) {
            return Vec::new();
        }
        let Some(direction) = self.directions.get_mut(&route) else {
            return Vec::new();
        };
        let flow = &mut direction.flow;
        if flow.holds_opening() && !is_still_connecting(route) {
            flow.stop_opening();
        }
        flow.retry(&mut self.links, &route.hop(), now_ns, now_ns)
    }

    /// Stops the retransmission timers of a host.
    pub(super) fn suspend(&mut self, host: HostId, now_ns: u64) {
        self.suspended.entry(host).or_insert(now_ns);
    }

    /// Resumes the retransmission timers of a host; returns the new end of each, in nanoseconds.
    pub(super) fn wake(&mut self, host: HostId, now_ns: u64) -> Vec<(Route, u64)> {
        let Some(since_ns) = self.suspended.remove(&host) else {
            return Vec::new();
        };
        let own = self.directions.iter_mut();
        own.filter(|(route, _)| route.from == host)
            .filter_map(|(route, direction)| {
                let at_ns = direction.flow.resume_timers(since_ns, now_ns)?;
                Some((*route, at_ns))
            })
            .collect()
    }

    /// Notes an arrival in the message log.
    pub(super) fn arrived(&mut self, transit: &Transit, now_ns: u64) {
        if let (Some(messages), Some(index)) = (&mut self.messages, transit.segment.message) {
            messages[index].arrived_ns = Some(now_ns);
        }
    }

    pub(super) fn install(&mut self, rule: LinkRule<HostId>) -> RuleId {
        self.links.install(rule)
    }

    pub(super) fn lift(&mut self, id: RuleId) {
        self.links.lift(id);
    }

    pub(super) fn is_silent(&self, host: HostId) -> bool {
        self.links.is_silent(&host)
    }

    pub(super) fn set_silent(&mut self, host: HostId, silent: bool) {
        if silent {
            self.links.silence(host);
        } else {
            self.links.unsilence(&host);
        }
    }

    /// Drops the unsent packets of a host that has lost power.
    pub(super) fn forget(&mut self, host: HostId) {
        self.directions.retain(|route, _| route.from != host);
        self.orphans.retain(|route| route.to != host);
    }

    /// Whether an acknowledgement along `route` is for a connection that was removed here, but that
    /// on a real machine would outlive its process and wait only for this acknowledgement.
    pub(super) fn ends_at_orphan(&self, route: Route) -> bool {
        self.orphans.contains(&route)
    }

    /// Resets which, delivered to the kernel of `host`, make it forget all its connections.
    /// Packets that its peers send later match no connection and are answered with a reset.
    pub(super) fn resets_for(&mut self, host: HostId) -> Vec<Packet> {
        let own = connections_of(host);
        self.orphans.extend(own.iter().map(|route| route.reverse()));
        own.into_iter().map(reset_for_sender).collect()
    }

    /// Resets which, delivered to both ends, end all connections of `host`. What waits to be sent again on
    /// them is dropped.
    pub(super) fn resets_of(&mut self, host: HostId) -> Vec<Packet> {
        let own = connections_of(host).into_iter();
        let both: Vec<Route> = own.flat_map(|route| [route, route.reverse()]).collect();
        self.directions.retain(|route, _| !both.contains(route));
        both.into_iter().map(reset_for_sender).collect()
    }

    /// The acknowledgement that the other end of `route` has been waiting for since it sent its
    /// SYN-ACK, if it still is. Clears that state.
    pub(super) fn last_of_handshake(&mut self, route: Route) -> Option<Packet> {
        let seq = self
            .directions
            .get_mut(&route.reverse())?
            .half_open
            .take()?;
        let ack = seq.wrapping_add(1);
        Some(acknowledgement(route, ack, u16::MAX))
    }

    /// Notes an acknowledgement along `route`, which ends the handshake.
    pub(super) fn handshake_ended(&mut self, route: Route) {
        if let Some(direction) = self.directions.get_mut(&route.reverse()) {
            direction.half_open = None;
        }
    }

    /// The number of messages kept.
    pub(super) fn messages(&self) -> usize {
        self.messages.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn take_messages(&mut self) -> Vec<SentMessage> {
        self.messages.take().unwrap_or_default()
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

/// The connections of a host, each by the direction from its own end.
fn connections_of(host: HostId) -> Vec<Route> {
    let sockets = turmoil_net::netstat(address_of(host)).entries;
    let route = |entry: &NetstatEntry| Route::between(entry.local, entry.peer?);
    sockets.iter().filter_map(route).collect()
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
