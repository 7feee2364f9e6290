//! The memory of data that several connections may share.

use std::collections::BTreeMap;

use bytes::Bytes;

/// From this size on, output for several connections is shared between them instead of copied
/// for each.
pub(super) const SHARED_FROM: usize = 4096;

/// A chunk of output as it was when it was added: the same for all connections that share its
/// memory, which stays allocated as long as one of them has a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Chunk {
    address: usize,
    len: usize,
}

impl Chunk {
    /// The chunk of these bytes.
    pub(crate) fn of(bytes: &Bytes) -> Chunk {
        Chunk {
            address: bytes.as_ptr().addr(),
            len: bytes.len(),
        }
    }
}

/// An amount of memory in which shared chunks count once.
#[derive(Default)]
pub(crate) struct MemoryUsage {
    bytes: usize,
    /// The number of holders of each chunk that may be shared.
    holders: BTreeMap<Chunk, usize>,
}

impl MemoryUsage {
    /// The memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Replaces the count of `old` unshared bytes by `new` bytes.
    pub(crate) fn replace(&mut self, old: usize, new: usize) {
        self.bytes = self.bytes - old + new;
    }

    /// Adds a holder of a chunk.
    pub(crate) fn add(&mut self, chunk: Chunk) {
        if self.is_first(chunk) {
            self.bytes += chunk.len;
        }
    }

    /// Removes a holder of a chunk.
    pub(crate) fn remove(&mut self, chunk: Chunk) {
        if self.was_last(chunk) {
            self.bytes -= chunk.len;
        }
    }

    fn is_first(&mut self, chunk: Chunk) -> bool {
        if chunk.len < SHARED_FROM {
            return true;
        }
        let holders = self.holders.entry(chunk).or_default();
        *holders += 1;
        *holders == 1
    }

    fn was_last(&mut self, chunk: Chunk) -> bool {
        let Some(holders) = self.holders.get_mut(&chunk) else {
            return true;
        };
        *holders -= 1;
        let is_last = *holders == 0;
        if is_last {
            self.holders.remove(&chunk);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_chunk_counts_once_until_its_last_holder_is_gone() {
        let bytes = Bytes::from(vec![0; SHARED_FROM]);
        let (one, other) = (Chunk::of(&bytes), Chunk::of(&bytes.clone()));
        let small = Chunk::of(&Bytes::from_static(b"ab"));
        let mut memory = MemoryUsage::default();
        for chunk in [one, other, small, small] {
            memory.add(chunk);
        }
        memory.replace(0, 7);
        assert_eq!(memory.bytes(), SHARED_FROM + 2 * 2 + 7);
        memory.remove(one);
        assert_eq!(memory.bytes(), SHARED_FROM + 2 * 2 + 7);
        memory.remove(other);
        memory.remove(small);
        memory.remove(small);
        memory.replace(7, 0);
        assert_eq!(memory.bytes(), 0);
        assert!(memory.holders.is_empty());
    }
}
