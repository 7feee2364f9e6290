//! The memory of data that several connections may share.

use std::collections::BTreeMap;

use bytes::Bytes;

/// From this size on, output for several connections is shared between them instead of copied
/// for each.
pub(super) const SHARED_FROM: usize = 4096;

/// A piece of output as it was when it was added: the same for all who share its memory, which
/// stays as long as one of them has a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    address: usize,
    len: usize,
}

impl Piece {
    /// The piece that these bytes are.
    pub(crate) fn of(bytes: &Bytes) -> Piece {
        Piece {
            address: bytes.as_ptr().addr(),
            len: bytes.len(),
        }
    }
}

/// An amount of memory, in which what is shared counts once.
#[derive(Default)]
pub(crate) struct Held {
    bytes: usize,
    /// How many have each piece that may be shared.
    holders: BTreeMap<Piece, usize>,
}

impl Held {
    /// The memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What took `old` bytes, which nobody shares, takes `new` bytes.
    pub(crate) fn replace(&mut self, old: usize, new: usize) {
        self.bytes = self.bytes - old + new;
    }

    /// One more has a piece.
    pub(crate) fn add(&mut self, piece: Piece) {
        if self.is_first(piece) {
            self.bytes += piece.len;
        }
    }

    /// One of those who have a piece has it no longer.
    pub(crate) fn remove(&mut self, piece: Piece) {
        if self.was_last(piece) {
            self.bytes -= piece.len;
        }
    }

    fn is_first(&mut self, piece: Piece) -> bool {
        if piece.len < SHARED_FROM {
            return true;
        }
        let holders = self.holders.entry(piece).or_default();
        *holders += 1;
        *holders == 1
    }

    fn was_last(&mut self, piece: Piece) -> bool {
        let Some(holders) = self.holders.get_mut(&piece) else {
            return true;
        };
        *holders -= 1;
        let is_last = *holders == 0;
        if is_last {
            self.holders.remove(&piece);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_counts_once_and_until_the_last_has_gone() {
        let bytes = Bytes::from(vec![0; SHARED_FROM]);
        let (one, other) = (Piece::of(&bytes), Piece::of(&bytes.clone()));
        let small = Piece::of(&Bytes::from_static(b"ab"));
        let mut held = Held::default();
        for piece in [one, other, small, small] {
            held.add(piece);
        }
        held.replace(0, 7);
        assert_eq!(held.bytes(), SHARED_FROM + 2 * 2 + 7);
        held.remove(one);
        assert_eq!(held.bytes(), SHARED_FROM + 2 * 2 + 7);
        held.remove(other);
        held.remove(small);
        held.remove(small);
        held.replace(7, 0);
        assert_eq!(held.bytes(), 0);
        assert!(held.holders.is_empty());
    }
}
