//! The memory that all connections of a node take.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Smaller pieces are never shared.
const MAY_BE_SHARED_FROM: usize = 4096;

/// Unwritten output.
pub(super) struct Piece {
    /// The part that is unwritten.
    pub(super) bytes: Bytes,
    whole: Whole,
}

/// A piece as it was: the same for all connections that share its memory, which stays as long as
/// one of them has a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Whole {
    address: usize,
    len: usize,
}

/// The memory that all connections take, in which what they share counts once.
#[derive(Default)]
pub(super) struct Held {
    bytes: usize,
    /// How many connections have each piece. (Only looked up: the order is of no account.)
    holders: BTreeMap<Whole, usize>,
}

impl Held {
    /// The memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A connection's input, which took `old` bytes, takes `new` bytes.
    pub(super) fn replace(&mut self, old: usize, new: usize) {
        self.bytes = self.bytes - old + new;
    }

    /// A connection gets output.
    pub(super) fn add_piece(&mut self, bytes: Bytes) -> Piece {
        let whole = Whole {
            address: bytes.as_ptr().addr(),
            len: bytes.len(),
        };
        let piece = Piece { bytes, whole };
        if self.is_first(whole) {
            self.bytes += whole.len;
        }
        piece
    }

    /// A connection has written a piece, or has gone.
    pub(super) fn remove_piece(&mut self, piece: &Piece) {
        if self.was_last(piece.whole) {
            self.bytes -= piece.whole.len;
        }
    }

    fn is_first(&mut self, whole: Whole) -> bool {
        if whole.len < MAY_BE_SHARED_FROM {
            return true;
        }
        let holders = self.holders.entry(whole).or_default();
        *holders += 1;
        *holders == 1
    }

    fn was_last(&mut self, whole: Whole) -> bool {
        let Some(holders) = self.holders.get_mut(&whole) else {
            return true;
        };
        *holders -= 1;
        let is_last = *holders == 0;
        if is_last {
            self.holders.remove(&whole);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_counts_once_and_until_the_last_has_gone() {
        let large = Bytes::from(vec![0; MAY_BE_SHARED_FROM]);
        let mut held = Held::default();
        let mut one = held.add_piece(large.clone());
        let other = held.add_piece(large);
        let small = [(); 2].map(|()| held.add_piece(Bytes::from_static(b"ab")));
        held.replace(0, 7);
        assert_eq!(held.bytes(), MAY_BE_SHARED_FROM + 2 * 2 + 7);
        // A part that is written frees nothing: the rest keeps the whole.
        one.bytes = one.bytes.slice(1..);
        held.remove_piece(&one);
        assert_eq!(held.bytes(), MAY_BE_SHARED_FROM + 2 * 2 + 7);
        held.remove_piece(&other);
        small.iter().for_each(|piece| held.remove_piece(piece));
        held.replace(7, 0);
        assert_eq!(held.bytes(), 0);
        assert!(held.holders.is_empty());
    }
}
