//! The last part of the replication stream, for replicas that reconnect.

use std::collections::VecDeque;

/// Up to `repl-backlog-size` bytes of the stream, and their offset.
pub(in crate::engine) struct Backlog {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// The offset of the next byte; the first byte of a stream has offset 1.
    next: u64,
}

impl Backlog {
    /// An empty backlog at this offset.
    pub(in crate::engine) fn new(capacity: usize, offset: u64) -> Self {
        Backlog {
            bytes: VecDeque::new(),
            capacity,
            next: offset + 1,
        }
    }

    /// Appends bytes of the stream.
    pub(in crate::engine) fn push(&mut self, bytes: &[u8]) {
        self.next += bytes.len() as u64;
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.capacity);
        self.bytes.drain(..surplus);
    }

    /// The stream from an offset on, if the backlog still contains all of it.
    pub(in crate::engine) fn from(&self, offset: u64) -> Option<Vec<u8>> {
        let back = self.next.checked_sub(offset)?;
        let start = self.bytes.len().checked_sub(usize::try_from(back).ok()?)?;
        Some(self.bytes.range(start..).copied().collect())
    }

    /// The offset of the first byte in the backlog.
    pub(in crate::engine) fn first(&self) -> u64 {
        self.next - self.bytes.len() as u64
    }

    /// The number of bytes in the backlog.
    pub(in crate::engine) fn len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(in crate::engine) fn only_what_is_there_can_be_had() {
        let mut backlog = Backlog::new(4, 10);
        assert_eq!(backlog.from(11), Some(vec![]));
        backlog.push(b"abcdef");
        assert_eq!((backlog.first(), backlog.len()), (13, 4));
        for (offset, expected) in [
            (12, None),
            (13, Some(b"cdef".to_vec())),
            (16, Some(b"f".to_vec())),
            (17, Some(vec![])),
            (18, None),
        ] {
            assert_eq!(backlog.from(offset), expected, "from {offset}");
        }
    }
}
