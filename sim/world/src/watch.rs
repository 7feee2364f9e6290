//! What happens in a world, told to a watcher before it takes effect.
//!
//! A world without a watcher pays for it with one comparison each time.

use super::packet::{self, Route};
use super::{HostId, World};
use turmoil_net::Packet;

/// Is told what happens. It may inject faults: they take effect before what it was told of.
pub trait Watcher {
    /// `moment` is about to happen.
    fn sees(&self, world: &mut World, moment: Moment<'_>);
}

/// Something that is about to happen.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// A segment with data leaves its sender for the first time.
    Leaves(Segment<'a>),
    /// A segment with data is handed to its receiver's kernel.
    Arrives(Segment<'a>),
    /// A packet is transmitted from one host to another: one with data, of a handshake, or one that
    /// is sent again.
    Transmits(HostId, HostId),
    /// A packet is handed to a host's kernel.
    Receives(HostId),
    /// A timer of the host fires.
    Timer(HostId),
    /// A task of the host is polled.
    Continues(HostId),
}

/// A segment with data.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Its number among those that have left, counted from 0; the same when it arrives.
    pub number: u32,
    /// Its sender, and the port there.
    pub from: (HostId, u16),
    /// Its receiver, and the port there.
    pub to: (HostId, u16),
    /// Its data.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    fn of(number: u32, route: Route, packet: &'a Packet) -> Self {
        Segment {
            number,
            from: (route.from, route.from_port),
            to: (route.to, route.to_port),
            payload: packet::payload(packet),
        }
    }
}

impl World {
    /// Tells the watcher, if there is one, what is about to happen.
    pub(super) fn watch(&mut self, moment: Moment<'_>) {
        if let Some(watcher) = self.watcher.clone() {
            watcher.sees(self, moment);
        }
    }

    /// Tells the watcher of a packet that leaves; returns its number if it has data.
    pub(super) fn watch_departure(&mut self, packet: &Packet) -> Option<u32> {
        let watcher = self.watcher.clone()?;
        let route = Route::of(packet)?;
        let has_data = !packet::payload(packet).is_empty();
        let number = has_data.then(|| {
            let number = self.watched;
            self.watched += 1;
            watcher.sees(self, Moment::Leaves(Segment::of(number, route, packet)));
            number
        });
        watcher.sees(self, Moment::Transmits(route.from, route.to));
        number
    }

    /// Tells the watcher of a packet that arrives, with its number if it has data.
    pub(super) fn watch_arrival(&mut self, number: Option<u32>, route: Route, packet: &Packet) {
        if let Some(number) = number {
            self.watch(Moment::Arrives(Segment::of(number, route, packet)));
        }
    }
}
