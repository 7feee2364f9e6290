//! Packets of turmoil-net's kernels: reading and building them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use locklab_link::Hop;
use turmoil_net::{NetstatEntry, Packet, TcpFlags, TcpSegment, Transport};

use super::HostId;

/// One direction of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub(super) from: HostId,
    pub(super) from_port: u16,
    pub(super) to: HostId,
    pub(super) to_port: u16,
}

impl Route {
    pub(super) fn of(packet: &Packet) -> Option<Self> {
        let segment = segment(packet)?;
        Self::between(
            SocketAddr::new(packet.src, segment.src_port),
            SocketAddr::new(packet.dst, segment.dst_port),
        )
    }

    pub(super) fn between(from: SocketAddr, to: SocketAddr) -> Option<Self> {
        Some(Self {
            from: host_of(from.ip())?,
            from_port: from.port(),
            to: host_of(to.ip())?,
            to_port: to.port(),
        })
    }

    /// The two ends of the connection, the sender's end first.
    pub(super) fn ends(self) -> (SocketAddr, SocketAddr) {
        (
            SocketAddr::new(address_of(self.from), self.from_port),
            SocketAddr::new(address_of(self.to), self.to_port),
        )
    }

    /// Its hosts, for the link.
    pub(super) fn hop(&self) -> Hop<'_, HostId> {
        Hop {
            from: &self.from,
            to: &self.to,
        }
    }

    pub(super) fn reverse(self) -> Self {
        Self {
            from: self.to,
            from_port: self.to_port,
            to: self.from,
            to_port: self.from_port,
        }
    }
}

/// The address of a host: 10.0.0.0/8 counted from 1.
pub(super) fn address_of(host: HostId) -> IpAddr {
    let [high, low] = (host.0 + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, 0, high, low))
}

/// The host with this address; `None` if no host has it.
pub fn host_of(address: IpAddr) -> Option<HostId> {
    match address {
        IpAddr::V4(v4) => {
            let [_, _, high, low] = v4.octets();
            Some(HostId(u16::from_be_bytes([high, low]).checked_sub(1)?))
        }
        IpAddr::V6(_) => None,
    }
}

/// Whether a packet is an acknowledgement without data or flags.
pub(super) fn is_bare_ack(packet: &Packet) -> bool {
    segment(packet).is_some_and(|segment| {
        let flags = segment.flags;
        segment.payload.is_empty() && flags.ack && !flags.syn && !flags.fin && !flags.rst
    })
}

/// The window that a packet announces; a reset announces none.
pub(super) fn window(packet: &Packet) -> Option<u16> {
    segment(packet)
        .filter(|segment| !segment.flags.rst)
        .map(|segment| segment.window)
}

/// Makes a packet announce this window.
pub(super) fn set_window(packet: &mut Packet, window: u16) {
    if let Transport::Tcp(segment) = &mut packet.payload {
        segment.window = window;
    }
}

/// The sequence number that a packet acknowledges up to.
pub(super) fn acknowledged(packet: &Packet) -> u32 {
    segment(packet).map_or(0, |segment| segment.ack)
}

/// Whether `next` carries data on the same connection as `ack`, and with it the same
/// acknowledgement.
pub(super) fn carries_ack_of(next: &Packet, ack: &Packet) -> bool {
    let (Some(data), Some(bare)) = (segment(next), segment(ack)) else {
        return false;
    };
    !data.payload.is_empty()
        && (data.src_port, data.dst_port) == (bare.src_port, bare.dst_port)
        && (next.src, next.dst) == (ack.src, ack.dst)
        && data.ack == bare.ack
}

pub(super) fn segment(packet: &Packet) -> Option<&TcpSegment> {
    match &packet.payload {
        Transport::Tcp(segment) => Some(segment),
        Transport::Udp(_) => None,
    }
}

pub(super) fn flags(packet: &Packet) -> TcpFlags {
    segment(packet).map(|s| s.flags).unwrap_or_default()
}

/// The connected socket that sends along `route`.
pub(super) fn socket(route: Route) -> Option<NetstatEntry> {
    let (local, peer) = route.ends();
    turmoil_net::netstat(local.ip())
        .entries
        .into_iter()
        .find(|entry| entry.local == local && entry.peer == Some(peer))
}

/// A reset that appears to come from the far end of `route`.
pub(super) fn reset_for_sender(route: Route) -> Packet {
    let rst = TcpFlags {
        rst: true,
        ..TcpFlags::default()
    };
    bare(route.reverse(), rst, 0, 0)
}

/// An acknowledgement that appears to come from the near end of `route`.
pub(super) fn acknowledgement(route: Route, ack: u32, window: u16) -> Packet {
    let flags = TcpFlags {
        ack: true,
        ..TcpFlags::default()
    };
    bare(route, flags, ack, window)
}

fn bare(route: Route, flags: TcpFlags, ack: u32, window: u16) -> Packet {
    Packet {
        src: address_of(route.from),
        dst: address_of(route.to),
        ttl: 64,
        payload: Transport::Tcp(TcpSegment {
            src_port: route.from_port,
            dst_port: route.to_port,
            seq: 0,
            ack,
            flags,
            window,
            payload: Bytes::new(),
        }),
    }
}

/// The data that a packet carries.
pub(super) fn payload(packet: &Packet) -> &[u8] {
    segment(packet).map_or(&[], |s| &s.payload)
}
