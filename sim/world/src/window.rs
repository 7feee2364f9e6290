//! TCP's windows, where turmoil-net leaves them to chance.
//!
//! Its receivers announce room only with what they send anyway, or after one read of
//! half the buffer, and its senders believe the announcement that came last, even if it
//! left first: with acknowledgements that overtake data, a sender may wait for ever or
//! send more than there is room for. So as soon as any window has come near its end,
//! this module looks at the receivers' buffers itself: every announcement says what is
//! true when it arrives, and a sender that was told to wait hears of room when a reader
//! has made some, as from Linux. Until then, which is for ever in the life of a lock, it
//! costs nothing.

use std::collections::BTreeMap;

use turmoil_net::Packet;

use super::packet::{self, Route};

/// The largest window without scaling.
const LARGEST: usize = 65_535;

/// How much of a window may be in use before anybody looks.
const UNWATCHED: usize = 32_768;

/// The receive buffer of every connection. It has room for a full window as long as
/// nobody looks.
pub(super) const BUFFER: usize = LARGEST + UNWATCHED;

/// Less room than two full segments is not worth an announcement (RFC 9293, 3.8.6.2).
const WORTH_TELLING: u16 = 2 * 1_460;

/// What the world knows of its connections' windows.
#[derive(Default)]
pub(super) struct Windows {
    ever_filled: bool,
    /// Ways of acknowledgements on which the last one said: wait. And what it
    /// acknowledged.
    closed: BTreeMap<Route, u32>,
}

impl Windows {
    /// Whether any window has ever come near its end.
    pub(super) fn ever_filled(&self) -> bool {
        self.ever_filled
    }

    /// A kernel has sent `packet`, and `under_way` bytes of data have not arrived yet.
    pub(super) fn sent(&mut self, packet: &Packet, under_way: usize) {
        let receiver_is_behind = packet::window(packet).is_some_and(|w| usize::from(w) < LARGEST);
        self.ever_filled |= receiver_is_behind || under_way > UNWATCHED;
    }

    /// Makes `packet`, which is about to arrive by `route`, say the truth.
    pub(super) fn correct(&mut self, route: Route, packet: &mut Packet) {
        if !self.ever_filled {
            return;
        }
        let Some(room) = room(route) else {
            return;
        };
        packet::set_window(packet, room);
        if room < WORTH_TELLING {
            self.closed.insert(route, packet::acknowledged(packet));
        } else {
            self.closed.remove(&route);
        }
    }

    /// What those have to say whose readers have made room.
    pub(super) fn updates(&mut self) -> Vec<Packet> {
        let mut updates = Vec::new();
        self.closed.retain(|route, ack| match room(*route) {
            Some(room) if room < WORTH_TELLING => true,
            Some(room) => {
                updates.push(packet::acknowledgement(*route, *ack, room));
                false
            }
            None => false,
        });
        updates
    }
}

/// The room that the receiver has whose acknowledgements go by `route`; `None` if it
/// has no such connection any more.
fn room(route: Route) -> Option<u16> {
    let unread = packet::socket(route)?.recv_q;
    Some(BUFFER.saturating_sub(unread).min(LARGEST) as u16)
}
