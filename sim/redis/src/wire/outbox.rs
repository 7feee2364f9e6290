//! The pending output of one connection.

use bytes::{Bytes, BytesMut};

use super::memory_usage::{Chunk, MemoryUsage, SHARED_FROM};

/// From this size on, output does not share its allocation with later output, and has little more
/// than it needs: what a connection has not read counts by its length.
const EXACT_FROM: usize = 32 * 1024;

/// Pending output, in order: chunks that may be shared with other connections, then the tail,
/// to which the next output is appended.
#[derive(Default)]
pub(crate) struct Outbox {
    chunks: Vec<Bytes>,
    chunks_bytes: usize,
    tail: BytesMut,
}

impl Outbox {
    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.chunks_bytes + self.tail.len()
    }

    /// Counts its memory.
    pub(crate) fn add_to(&self, memory: &mut MemoryUsage) {
        memory.replace(0, self.tail.len());
        for bytes in &self.chunks {
            memory.add(Chunk::of(bytes));
        }
    }

    /// No longer counts its memory, which is as it was when it was counted.
    pub(crate) fn remove_from(&self, memory: &mut MemoryUsage) {
        memory.replace(self.tail.len(), 0);
        for bytes in &self.chunks {
            memory.remove(Chunk::of(bytes));
        }
    }

    /// The buffer to append to.
    pub(crate) fn tail(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    /// Appends output that other connections get too. Returns how much memory that
    /// took for this connection alone.
    pub(crate) fn share(&mut self, bytes: &Bytes) -> usize {
        if bytes.len() < SHARED_FROM {
            self.tail.extend_from_slice(bytes);
            return bytes.len();
        }
        self.seal();
        self.chunks_bytes += bytes.len();
        self.chunks.push(bytes.clone());
        size_of::<Bytes>()
    }

    /// Replaces `len` bytes at `at` by what `encode` appends.
    pub(crate) fn replace(&mut self, at: usize, len: usize, encode: impl Fn(&mut BytesMut)) {
        let whole = self.take().concat();
        self.tail.extend_from_slice(&whole[..at]);
        encode(&mut self.tail);
        self.tail.extend_from_slice(&whole[at + len..]);
    }

    /// Removes the output, to be sent in this order.
    pub(crate) fn take(&mut self) -> Vec<Bytes> {
        self.seal();
        self.chunks_bytes = 0;
        std::mem::take(&mut self.chunks)
    }

    /// Removes the output that is sent; keeps it from the first chunk of which a rest is returned.
    pub(crate) fn send(&mut self, mut send: impl FnMut(Bytes) -> Bytes) {
        let mut chunks = self.take().into_iter();
        let rest = chunks.by_ref().map(&mut send).find(|rest| !rest.is_empty());
        self.chunks = rest.into_iter().chain(chunks).collect();
        self.chunks_bytes = self.chunks.iter().map(Bytes::len).sum();
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            let tail = match self.tail.capacity() {
                ..EXACT_FROM => self.tail.split().freeze(),
                _ => exact(std::mem::take(&mut self.tail)),
            };
            self.chunks_bytes += tail.len();
            self.chunks.push(tail);
        }
    }
}

/// These bytes without much of an allocation beyond them.
#[cold]
fn exact(bytes: BytesMut) -> Bytes {
    match bytes.capacity() - bytes.len() > bytes.len() / 8 {
        true => Bytes::copy_from_slice(&bytes),
        false => bytes.freeze(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_output_is_shared_and_stays_in_order() {
        let large = Bytes::from(vec![b'x'; SHARED_FROM]);
        let mut out = Outbox::default();
        out.tail().extend_from_slice(b"before");
        assert_eq!(out.share(&large), size_of::<Bytes>());
        assert_eq!(out.share(&Bytes::from_static(b"small")), 5);
        out.tail().extend_from_slice(b"after");
        assert_eq!(out.len(), 6 + SHARED_FROM + 10);
        out.replace(6 + SHARED_FROM, 5, |tail| tail.extend_from_slice(b"!"));
        let sent = out.take().concat();
        assert_eq!(sent, [b"before", &*large, b"!after"].concat());
        assert_eq!((out.len(), out.take()), (0, vec![]));
        out.share(&large);
        assert_eq!(out.take()[0].as_ptr(), large.as_ptr());
    }

    #[test]
    fn small_output_after_large_output_has_an_allocation_of_its_own() {
        let mut out = Outbox::default();
        out.tail().extend_from_slice(&[b'x'; EXACT_FROM]);
        out.tail().extend_from_slice(b"more than a power of two");
        let large = out.take();
        assert!(out.tail.capacity() < EXACT_FROM);
        assert_eq!(large[0].len(), EXACT_FROM + 24);
    }

    #[test]
    fn what_is_not_sent_stays_in_order() {
        let large = Bytes::from(vec![b'x'; SHARED_FROM]);
        let mut out = Outbox::default();
        out.tail().extend_from_slice(b"before");
        out.share(&large);
        out.tail().extend_from_slice(b"after");
        let mut chunks = 0;
        out.send(|mut bytes| {
            chunks += 1;
            bytes.split_off(if chunks == 1 { 6 } else { 1 })
        });
        assert_eq!((chunks, out.len()), (2, SHARED_FROM + 4));
        out.tail().extend_from_slice(b"!");
        assert_eq!(out.take().concat(), [&large[1..], b"after!"].concat());
        out.send(|_| unreachable!("nothing is left"));
    }
}
