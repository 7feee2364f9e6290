//! A suspended host: the segments that wait at it until it wakes.

use std::collections::VecDeque;

use super::end::End;
use super::flow::{Content, Transit};

/// A suspended host.
#[derive(Debug)]
pub(super) struct Suspension {
    pub(super) since_ns: u64,
    /// How many suspensions are in force; they act as one.
    pub(super) depth: u32,
    /// The segments that have arrived, in order.
    pub(super) inbox: Vec<Transit>,
    /// The segments that it will send when it wakes, in order.
    pub(super) outbox: VecDeque<(End, Content)>,
}

impl Suspension {
    /// A host on which no suspension is in force yet.
    pub(super) fn since(now_ns: u64) -> Self {
        Suspension {
            since_ns: now_ns,
            depth: 0,
            inbox: Vec::new(),
            outbox: VecDeque::new(),
        }
    }

    /// Drops what a flow was to send; returns whether the handshake's answer was part of it.
    pub(super) fn drop_flow(&mut self, end: End) -> bool {
        let mut opened = false;
        self.outbox.retain(|(from, content)| {
            opened |= *from == end && content.opens();
            *from != end
        });
        opened
    }
}
