//! State shared by all parts of a sentinel: its identity, the time, and the pending effects.

use bytes::{Bytes, BytesMut};
use locklab_vecmap::VecMap;

use super::address::Address;
use super::config::Uptime;
use super::effect::{ConnId, Effect, LinkId, Notice};
use crate::glob;
use crate::wire::reply::{Reply, Resp};
use crate::wire::request::Parser;

/// The identity of this sentinel, the time, and the effects to carry out.
pub(super) struct Core {
    pub(super) me: Address,
    pub(super) run_id: String,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub(super) now_ms: i64,
    /// The highest epoch seen (`current_epoch`).
    pub(super) epoch: u64,
    /// When the process started, in milliseconds since the Unix epoch.
    pub(super) started_ms: i64,
    /// Since when TILT mode is on: the clock jumped or the timer was late, so it only
    /// monitors.
    pub(super) tilt_since_ms: Option<i64>,
    pub(super) effects: Vec<Effect>,
    /// Whether state that the configuration file holds has changed.
    pub(super) unsaved: bool,
    pub(super) clients: VecMap<ConnId, Client>,
    pub(super) random: Box<dyn FnMut(u64) -> u64>,
    uptime: Uptime,
    next_link: u64,
}

/// A client of the sentinel.
#[derive(Default)]
pub(super) struct Client {
    pub(super) inbound: BytesMut,
    pub(super) parser: Parser,
    pub(super) resp: Resp,
    /// The name set by CLIENT SETNAME; empty if none was set.
    pub(super) name: String,
    pub(super) channels: Vec<Bytes>,
    pub(super) patterns: Vec<Bytes>,
}

impl Core {
    pub(super) fn new(me: Address, uptime: Uptime, mut random: Box<dyn FnMut(u64) -> u64>) -> Self {
        let run_id = (0..40)
            .filter_map(|_| char::from_digit(random(16) as u32, 16))
            .collect();
        Core {
            me,
            run_id,
            now_ms: 0,
            epoch: 0,
            started_ms: 0,
            tilt_since_ms: None,
            effects: Vec::new(),
            // A new sentinel writes its id to the file.
            unsaved: true,
            clients: VecMap::new(),
            random,
            uptime,
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

    /// The id of a link that is about to be opened.
    pub(super) fn new_link_id(&mut self) -> LinkId {
        let id = LinkId(self.next_link);
        self.next_link += 1;
        id
    }

    /// The time elapsed since `at_ms`, in milliseconds.
    pub(super) fn since(&self, at_ms: i64) -> i64 {
        self.now_ms - at_ms
    }

    /// The time to record for a periodic action if it is done now; `is_first` if it is done
    /// for the first time.
    pub(super) fn done_ms(&mut self, is_first: bool, period_ms: i64) -> i64 {
        match self.uptime {
            Uptime::Long if is_first => self.now_ms - (self.random)(period_ms as u64) as i64,
            _ => self.now_ms,
        }
    }

    /// Whether the sentinel ran before it was created here.
    pub(super) fn has_run_for_long(&self) -> bool {
        self.uptime == Uptime::Long
    }

    /// A random delay below `SENTINEL_MAX_DESYNC`, one second, so that sentinels do not all
    /// start at the same time.
    pub(super) fn desync_ms(&mut self) -> i64 {
        (self.random)(1000) as i64
    }
}

/// Encodes a message to a subscriber.
fn push(resp: Resp, words: &[&[u8]], out: &mut BytesMut) {
    Reply::Push(words.iter().map(Reply::bulk).collect()).encode(resp, out);
}
