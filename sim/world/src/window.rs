//! Corrects TCP's windows, which turmoil-net announces unreliably.
//!
//! Its receivers announce their window only with packets that they send anyway, or after one read
//! of half the buffer, and its senders use the announcement that arrived last, even if it was sent
//! first. With acknowledgements that overtake data, a sender may wait without end or send more than
//! the receiver can buffer. So as soon as any window has been nearly full, this module looks at the
//! receivers' buffers itself: every announcement is corrected when it arrives, and a blocked sender
//! gets a window update when a reader has made room, as on Linux. Until then it costs nothing.
//! Locks never send enough to fill a window.

use locklab_vecmap::VecMap;
use turmoil_net::Packet;

use super::packet::{self, Route};

/// The largest window without scaling.
const MAX_WINDOW: usize = 65_535;

/// How much of a window may be in use before the buffers are watched.
const UNWATCHED: usize = 32_768;

/// The receive buffer of every connection. It holds a full window beyond the part that is not
/// watched.
pub(super) const BUFFER: usize = MAX_WINDOW + UNWATCHED;

/// Less room than two full segments is not worth an announcement (RFC 9293, 3.8.6.2).
const MIN_UPDATE: u16 = 2 * 1_460;

/// The state of all windows of the world's connections.
#[derive(Default)]
pub(super) struct Windows {
    ever_filled: bool,
    /// Routes of acknowledgements on which the last one announced no room, and the sequence
    /// number that it acknowledged.
    closed: VecMap<Route, u32>,
}

impl Windows {
    /// Whether any window has ever been nearly full.
    pub(super) fn ever_filled(&self) -> bool {
        self.ever_filled
    }

    /// Notes that a kernel has sent `packet` while `under_way` bytes of data are in transit.
    pub(super) fn sent(&mut self, packet: &Packet, under_way: usize) {
        let receiver_is_behind =
            packet::window(packet).is_some_and(|w| usize::from(w) < MAX_WINDOW);
        self.ever_filled |= receiver_is_behind || under_way > UNWATCHED;
    }

    /// Corrects the window of `packet`, which is about to arrive by `route`.
    pub(super) fn correct(&mut self, route: Route, packet: &mut Packet) {
        if !self.ever_filled {
            return;
        }
        let Some(room) = room(route) else {
            return;
        };
        packet::set_window(packet, room);
        if room < MIN_UPDATE {
            self.closed.insert(route, packet::acknowledged(packet));
        } else {
            self.closed.remove(&route);
        }
    }

    /// Window updates from the receivers whose readers have made room.
    pub(super) fn updates(&mut self) -> Vec<Packet> {
        let mut updates = Vec::new();
        if self.closed.is_empty() {
            return updates;
        }
        self.closed.retain(|route, ack| match room(*route) {
            Some(room) if room < MIN_UPDATE => true,
            Some(room) => {
                updates.push(packet::acknowledgement(*route, *ack, room));
                false
            }
            None => false,
        });
        updates
    }
}

/// The room of the receiver whose acknowledgements take `route`; `None` if that connection no
/// longer exists.
fn room(route: Route) -> Option<u16> {
    let unread = packet::socket(route)?.recv_q;
    Some(BUFFER.saturating_sub(unread).min(MAX_WINDOW) as u16)
}
