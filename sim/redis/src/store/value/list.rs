//! Lists.

use std::collections::VecDeque;

use bytes::Bytes;

/// A list, from its head (left) to its tail (right).
pub(crate) type List = VecDeque<Bytes>;

/// An end of a list.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The head.
    Left,
    /// The tail.
    Right,
}

impl End {
    /// The event for an element added at this end.
    pub(crate) fn push_event(self) -> &'static str {
        match self {
            End::Left => "lpush",
            End::Right => "rpush",
        }
    }

    /// The event for an element taken from this end.
    pub(crate) fn pop_event(self) -> &'static str {
        match self {
            End::Left => "lpop",
            End::Right => "rpop",
        }
    }

    /// Parses `LEFT` or `RIGHT`, in any case.
    pub(crate) fn parse(word: &[u8]) -> Option<End> {
        if word.eq_ignore_ascii_case(b"left") {
            Some(End::Left)
        } else if word.eq_ignore_ascii_case(b"right") {
            Some(End::Right)
        } else {
            None
        }
    }

    /// Adds an element at this end.
    pub(crate) fn push(self, list: &mut List, element: Bytes) {
        match self {
            End::Left => list.push_front(element),
            End::Right => list.push_back(element),
        }
    }

    /// Removes and returns the element at this end.
    pub(crate) fn pop(self, list: &mut List) -> Option<Bytes> {
        match self {
            End::Left => list.pop_front(),
            End::Right => list.pop_back(),
        }
    }
}
