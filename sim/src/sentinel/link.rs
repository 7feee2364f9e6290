//! One connection of a sentinel to somebody it watches: commands out, replies in, each
//! with what it was asked for.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use redis_protocol::resp2::decode::decode_bytes_mut;
use redis_protocol::resp2::types::BytesFrame;

use super::core::{Core, Effect, LinkId};

/// A connection, or the attempt at one.
pub(super) struct Link {
    pub(super) id: LinkId,
    /// When it was begun.
    pub(super) since_ms: i64,
    expected: VecDeque<Expect>,
    inbound: BytesMut,
}

/// What a reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// Nothing that anybody looks at.
    Nothing,
    Ping,
    Info,
    /// `SENTINEL is-master-down-by-addr`.
    MasterDown,
}

/// The other end does not speak RESP.
pub(super) struct Garbled;

impl Link {
    pub(super) fn new(id: LinkId, since_ms: i64) -> Self {
        Link {
            id,
            since_ms,
            expected: VecDeque::new(),
            inbound: BytesMut::new(),
        }
    }

    /// Sends a command.
    pub(super) fn send(&mut self, core: &mut Core, words: &[&str], expect: Expect) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.expected.push_back(expect);
        core.effects.push(Effect::Send {
            link: self.id,
            bytes: encode(&words),
        });
    }

    /// How many commands wait for their replies.
    pub(super) fn pending(&self) -> usize {
        self.expected.len()
    }

    /// Takes in bytes.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.inbound.extend_from_slice(bytes);
    }

    /// The next whole reply, with what it answers; a message answers nothing.
    pub(super) fn next_reply(&mut self) -> Result<Option<(Expect, BytesFrame)>, Garbled> {
        let frame = next_frame(&mut self.inbound)?;
        Ok(frame.map(|frame| {
            let expected = self.expected.pop_front();
            (expected.unwrap_or(Expect::Nothing), frame)
        }))
    }
}

/// Cuts a whole frame off the front.
fn next_frame(inbound: &mut BytesMut) -> Result<Option<BytesFrame>, Garbled> {
    if inbound.is_empty() {
        return Ok(None);
    }
    let decoded = decode_bytes_mut(inbound).map_err(|_| Garbled)?;
    Ok(decoded.map(|(frame, _, _)| frame))
}

/// A command, as an array of strings.
pub(super) fn encode(words: &[&[u8]]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.put_slice(format!("${}\r\n", word.len()).as_bytes());
        out.put_slice(word);
        out.put_slice(b"\r\n");
    }
    out.freeze()
}
