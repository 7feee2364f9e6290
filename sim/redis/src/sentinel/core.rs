//! What all parts of a sentinel share: who it is, the time, and what is to be done.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::config::{Address, Past};
use super::file::SentinelFile;
use super::link::Link;
use crate::glob;
use crate::wire::reply::{Reply, Resp};
use crate::wire::request::Parser;

/// A connection that the sentinel opened. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u64);

/// A connection that somebody opened to the sentinel. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub(super) u64);

/// What the driver of a sentinel has to do, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Connect; what is sent before the connection stands is to be kept for it.
    Connect {
        /// Its number from now on.
        link: LinkId,
        /// Where to.
        to: Address,
    },
    /// Send a command on a link.
    Send {
        /// The link.
        link: LinkId,
        /// A whole command.
        bytes: Bytes,
    },
    /// Close a link. The sentinel has forgotten it.
    Hangup {
        /// The link.
        link: LinkId,
    },
    /// Send a reply or a message to a client.
    Reply {
        /// The client's connection.
        conn: ConnId,
        /// Whole replies.
        bytes: Bytes,
    },
    /// Close a client's connection after what was sent on it.
    Close {
        /// The connection.
        conn: ConnId,
    },
    /// Write the configuration file, durably, before anything that comes after this.
    Write(SentinelFile),
    /// An event for the log; subscribers have been told by [`Effect::Reply`].
    Event(Notice),
}

/// An event as Sentinel logs and publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The channel: `+sdown`.
    pub channel: &'static str,
    /// The message: `master mymaster n1 6379`.
    pub text: String,
}

/// Who this sentinel is, what time it is, and what it wants done.
pub(super) struct Core {
    pub(super) me: Address,
    pub(super) run_id: String,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub(super) now_ms: i64,
    /// The highest epoch seen (`current_epoch`).
    pub(super) epoch: u64,
    /// Since when it only watches, because its clock jumped or its timer was late.
    pub(super) tilt_since_ms: Option<i64>,
    pub(super) effects: Vec<Effect>,
    /// Something changed that the configuration file says.
    pub(super) unsaved: bool,
    pub(super) clients: BTreeMap<ConnId, Client>,
    pub(super) random: Box<dyn FnMut(u64) -> u64>,
    past: Past,
    next_link: u64,
}

/// A client of the sentinel.
#[derive(Default)]
pub(super) struct Client {
    pub(super) inbound: BytesMut,
    pub(super) parser: Parser,
    pub(super) resp: Resp,
    pub(super) channels: Vec<Bytes>,
    pub(super) patterns: Vec<Bytes>,
}

impl Core {
    pub(super) fn new(me: Address, past: Past, mut random: Box<dyn FnMut(u64) -> u64>) -> Self {
        let run_id = (0..40)
            .filter_map(|_| char::from_digit(random(16) as u32, 16))
            .collect();
        Core {
            me,
            run_id,
            now_ms: 0,
            epoch: 0,
            tilt_since_ms: None,
            effects: Vec::new(),
            // A sentinel that starts writes its id down.
            unsaved: true,
            clients: BTreeMap::new(),
            random,
            past,
            next_link: 1,
        }
    }

    /// Logs an event and publishes it (`sentinelEvent`).
    pub(super) fn event(&mut self, channel: &'static str, text: impl Into<String>) {
        let text = text.into();
        for (conn, client) in &self.clients {
            let name = channel.as_bytes();
            let mut out = BytesMut::new();
            if client.channels.iter().any(|known| known == name) {
                push(client.resp, &[b"message", name, text.as_bytes()], &mut out);
            }
            for pattern in &client.patterns {
                if glob::matches(pattern, name) {
                    let words = [b"pmessage", &pattern[..], name, text.as_bytes()];
                    push(client.resp, &words, &mut out);
                }
            }
            if !out.is_empty() {
                let (conn, bytes) = (*conn, out.freeze());
                self.effects.push(Effect::Reply { conn, bytes });
            }
        }
        self.effects.push(Effect::Event(Notice { channel, text }));
    }

    /// Starts to connect.
    pub(super) fn connect(&mut self, to: &Address) -> Link {
        let id = LinkId(self.next_link);
        self.next_link += 1;
        self.effects.push(Effect::Connect {
            link: id,
            to: to.clone(),
        });
        Link::new(id, self.now_ms)
    }

    /// Closes a link, if there is one.
    pub(super) fn hang_up(&mut self, link: Option<Link>) {
        if let Some(link) = link {
            self.effects.push(Effect::Hangup { link: link.id });
        }
    }

    /// How long ago that was, in milliseconds.
    pub(super) fn since(&self, at_ms: i64) -> i64 {
        self.now_ms - at_ms
    }

    /// When something was last done that is done every `period_ms`, if it is done now;
    /// `is_first`: for the first time.
    pub(super) fn done_ms(&mut self, is_first: bool, period_ms: i64) -> i64 {
        match self.past {
            Past::Long if is_first => self.now_ms - (self.random)(period_ms as u64) as i64,
            _ => self.now_ms,
        }
    }

    /// Whether it ran before it was created here.
    pub(super) fn has_run_for_long(&self) -> bool {
        self.past == Past::Long
    }

    /// A delay below `SENTINEL_MAX_DESYNC`, a second, so that sentinels do not all
    /// start at once.
    pub(super) fn desync_ms(&mut self) -> i64 {
        (self.random)(1000) as i64
    }
}

/// A message to a subscriber.
fn push(resp: Resp, words: &[&[u8]], out: &mut BytesMut) {
    Reply::Push(words.iter().map(Reply::bulk).collect()).encode(resp, out);
}
