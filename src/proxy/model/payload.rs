//! Data under way, and how much of it there is.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use tokio::sync::Notify;

/// How much data of one flow may be under way before the proxy stops reading from its sender:
/// as much as a socket's buffers hold.
const MAX_UNDER_WAY: usize = 1 << 20;

/// Counts the data of one flow that has left its sender and is not yet in its receiver's socket.
#[derive(Debug)]
pub(crate) struct Meter {
    bytes: Cell<usize>,
    /// Notified when there is room again.
    changed: Rc<Notify>,
}

impl Meter {
    pub(crate) fn new(changed: Rc<Notify>) -> Rc<Self> {
        let bytes = Cell::new(0);
        Rc::new(Self { bytes, changed })
    }

    /// Whether more may be read from the sender.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes.get() < MAX_UNDER_WAY
    }
}

/// Data of one segment. While it exists it counts as under way.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Bytes,
    meter: Rc<Meter>,
}

impl Payload {
    pub(crate) fn new(bytes: Bytes, meter: &Rc<Meter>) -> Self {
        meter.bytes.set(meter.bytes.get() + bytes.len());
        Self {
            bytes,
            meter: meter.clone(),
        }
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let was_full = !self.meter.has_room();
        let rest = self.meter.bytes.get() - self.bytes.len();
        self.meter.bytes.set(rest);
        if was_full && self.meter.has_room() {
            self.meter.changed.notify_one();
        }
    }
}
