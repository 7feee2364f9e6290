//! One connection of a sentinel to an instance it monitors: commands out, replies in, each
//! reply matched with its command.

use std::collections::VecDeque;

use locklab_bounds::resp::Inbound;
use locklab_bounds::{Bounds, Refused};
use redis_protocol::resp2::types::BytesFrame;

use super::address::Address;
use super::core::Core;
use super::effect::{Effect, LinkId};
use crate::resp::command;

/// A connection, or an attempt to connect.
pub(super) struct Link {
    pub(super) id: LinkId,
    /// When the attempt started.
    pub(super) since_ms: i64,
    expected: VecDeque<Expect>,
    inbound: Inbound,
}

/// The command that a reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// A command whose reply is ignored.
    Nothing,
    Ping,
    Info,
    /// `SENTINEL is-master-down-by-addr`.
    MasterDown,
}

impl Link {
    /// Starts to connect.
    pub(super) fn open(core: &mut Core, to: &Address) -> Self {
        let id = core.new_link_id();
        core.effects.push(Effect::Connect {
            link: id,
            to: to.clone(),
        });
        Link {
            id,
            since_ms: core.now_ms,
            expected: VecDeque::new(),
            inbound: Inbound::new(Bounds::FRAME),
        }
    }

    /// Closes it.
    pub(super) fn close(self, core: &mut Core) {
        core.effects.push(Effect::Hangup { link: self.id });
    }

    /// Sends a command.
    pub(super) fn send(&mut self, core: &mut Core, words: &[&str], expect: Expect) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.expected.push_back(expect);
        core.effects.push(Effect::Send {
            link: self.id,
            bytes: command(&words),
        });
    }

    /// The number of commands that wait for their replies.
    pub(super) fn pending(&self) -> usize {
        self.expected.len()
    }

    /// Buffers bytes that arrived.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.inbound.buffer().extend_from_slice(bytes);
    }

    /// The next complete reply, with the command it answers; a message answers none.
    pub(super) fn next_reply(&mut self) -> Result<Option<(Expect, BytesFrame)>, Refused> {
        let frame = self.inbound.next_frame()?;
        Ok(frame.map(|frame| {
            let expected = self.expected.pop_front();
            (expected.unwrap_or(Expect::Nothing), frame)
        }))
    }
}
