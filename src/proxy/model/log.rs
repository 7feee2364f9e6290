//! The segments with data that a proxy keeps.

use bytes::Bytes;
use locklab_history::Name;

use crate::options::Keep;

/// The most segments that are kept.
pub const MAX_MESSAGES: usize = 1_000_000;

/// The most data that is kept, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// A segment that a host sent to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// When it first left, in nanoseconds of `CLOCK_MONOTONIC`.
    pub sent_ns: u64,
    /// When it arrived, by the same clock; `None` if it has not.
    pub arrived_ns: Option<u64>,
    /// The sender.
    pub from: Name,
    /// The receiver.
    pub to: Name,
    /// The number of its connection in the run.
    pub connection: u64,
    /// Its data.
    pub payload: Bytes,
}

/// The segments for which there was no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// How many.
    pub segments: u64,
    /// When the first one left, in nanoseconds of `CLOCK_MONOTONIC`.
    pub sent_ns: u64,
}

/// Identifies a kept segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageId(usize);

#[derive(Debug)]
pub(super) struct Log {
    keep: Keep,
    kept: Vec<Segment>,
    bytes: usize,
    /// The number of segments that were taken.
    taken: usize,
    dropped: Option<Dropped>,
}

impl Log {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            keep,
            kept: Vec::new(),
            bytes: 0,
            taken: 0,
            dropped: None,
        }
    }

    pub(super) fn sent(&mut self, segment: Segment) -> Option<MessageId> {
        let bytes = self.bytes + segment.payload.len();
        let is_full = self.kept.len() >= MAX_MESSAGES || bytes > MAX_MESSAGE_BYTES;
        if self.keep == Keep::Nothing {
            return None;
        }
        if is_full {
            let sent_ns = segment.sent_ns;
            let first = Dropped {
                segments: 0,
                sent_ns,
            };
            self.dropped.get_or_insert(first).segments += 1;
            return None;
        }
        self.bytes = bytes;
        self.kept.push(segment);
        Some(MessageId(self.taken + self.kept.len() - 1))
    }

    /// Notes the first arrival of a segment; a segment that is answered by a lost reset arrives
    /// several times.
    pub(super) fn arrived(&mut self, MessageId(id): MessageId, now_ns: u64) {
        let index = id.checked_sub(self.taken);
        if let Some(segment) = index.and_then(|index| self.kept.get_mut(index)) {
            segment.arrived_ns.get_or_insert(now_ns);
        }
    }

    pub(super) fn dropped(&self) -> Option<Dropped> {
        self.dropped
    }

    /// To whom a segment goes, if it is still kept.
    pub(super) fn receiver(&self, MessageId(id): MessageId) -> Option<&Name> {
        let index = id.checked_sub(self.taken)?;
        Some(&self.kept.get(index)?.to)
    }

    pub(super) fn take(&mut self) -> Vec<Segment> {
        self.taken += self.kept.len();
        self.bytes = 0;
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_without_room_are_dropped_and_counted() {
        let mut log = Log::new(Keep::Messages);
        let payload = Bytes::from(vec![0; MAX_MESSAGE_BYTES / 2 + 1]);
        let segment = |sent_ns| Segment {
            sent_ns,
            arrived_ns: None,
            from: "c1".into(),
            to: "n1".into(),
            connection: 1,
            payload: payload.clone(),
        };
        assert!(log.sent(segment(1)).is_some());
        assert_eq!(log.dropped(), None);
        assert!(log.sent(segment(2)).is_none() && log.sent(segment(3)).is_none());
        let dropped = Dropped {
            segments: 2,
            sent_ns: 2,
        };
        assert_eq!(log.dropped(), Some(dropped));
    }
}
