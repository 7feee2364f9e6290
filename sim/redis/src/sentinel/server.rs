//! The sentinel as its driver sees it: events go in, effects come out.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};
use redis_protocol::resp2::types::BytesFrame;

use super::command;
use super::config::SentinelConfig;
use super::core::{Client, ConnId, Core, Effect, LinkId};
use super::hello::Hello;
use super::instance::Channel;
use super::link::Expect;
use super::master::{InstanceId, Master};
use crate::wire::request::Parsed;

/// `SENTINEL_TILT_TRIGGER`: if the timer is late or early by this much, the clock is not
/// trusted.
const TILT_TRIGGER_MS: i64 = 2_000;

/// One `redis-sentinel`.
pub struct Sentinel {
    pub(super) core: Core,
    pub(super) masters: BTreeMap<String, Master>,
    next_conn: u64,
    /// When the timer runs next; immediately after the start.
    next_tick_ms: Option<i64>,
    last_tick_ms: i64,
}

impl Sentinel {
    /// Creates a sentinel that starts at this wall-clock time, in milliseconds since the Unix
    /// epoch.
    pub fn new(config: SentinelConfig, now_ms: i64) -> Self {
        let mut core = Core::new(config.announce, config.uptime, config.random);
        core.now_ms = now_ms;
        let mut sentinel = Sentinel {
            core,
            masters: BTreeMap::new(),
            next_conn: 1,
            next_tick_ms: None,
            last_tick_ms: now_ms,
        };
        match config.file {
            Some(file) => sentinel.restore(file),
            None => {
                for monitor in config.monitor {
                    command::monitor(&mut sentinel, monitor);
                }
            }
        }
        sentinel
    }

    /// The run id, 40 hexadecimal digits.
    pub fn run_id(&self) -> &str {
        &self.core.run_id
    }

    /// The wall-clock time of the next call to [`Sentinel::wake`].
    pub fn next_wake_ms(&self) -> i64 {
        self.next_tick_ms.unwrap_or(self.last_tick_ms)
    }

    /// Runs the timer if it is due at `now_ms`, the wall-clock time (`sentinelTimer`).
    pub fn wake(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        self.core.now_ms = now_ms;
        // If the clock was set back, the timer runs and detects it.
        if now_ms >= self.next_wake_ms() || now_ms < self.last_tick_ms {
            self.tick();
        }
        self.finish(effects);
    }

    /// Collects the effects; the write of the configuration file comes first.
    fn finish(&mut self, effects: &mut Vec<Effect>) {
        if std::mem::take(&mut self.core.unsaved) {
            effects.push(Effect::Write(self.file()));
        }
        effects.append(&mut self.core.effects);
    }

    fn tick(&mut self) {
        let core = &mut self.core;
        let passed_ms = core.since(self.last_tick_ms);
        if !(0..=TILT_TRIGGER_MS).contains(&passed_ms) {
            core.tilt_since_ms = Some(core.now_ms);
            core.event("+tilt", "#tilt mode entered");
        }
        self.last_tick_ms = core.now_ms;
        for master in self.masters.values_mut() {
            master.handle(core);
        }
        // A frequency of 10 to 19 Hz, drawn each time, so that sentinels that were started together
        // do not keep splitting the vote.
        let hz = 10 + (core.random)(10) as i64;
        self.next_tick_ms = Some(core.now_ms + 1000 / hz);
    }

    /// Handles bytes that arrived on a link.
    pub fn link_received(
        &mut self,
        link: LinkId,
        bytes: &[u8],
        now_ms: i64,
        effects: &mut Vec<Effect>,
    ) {
        self.core.now_ms = now_ms;
        if let Some((name, who, channel)) = self.find(link)
            && let Some(own) = self.link_mut(&name, &who, channel)
        {
            own.receive(bytes);
            // Each reply may change the known instances, and may close this link.
            while let Some(reply) = self.next_reply(link) {
                self.handle_reply(link, reply);
            }
        }
        self.finish(effects);
    }

    /// Handles a link that closed or could not be connected.
    pub fn link_closed(&mut self, link: LinkId, now_ms: i64) {
        self.core.now_ms = now_ms;
        if let Some((name, who, channel)) = self.find(link)
            && let Some(server) = self.masters.get_mut(&name).and_then(|m| m.server_mut(&who))
        {
            *server.link_mut(channel) = None;
        }
    }

    fn find(&self, link: LinkId) -> Option<(String, InstanceId, Channel)> {
        self.masters.iter().find_map(|(name, master)| {
            let (who, channel) = master.find(link)?;
            Some((name.clone(), who, channel))
        })
    }

    fn link_mut(
        &mut self,
        name: &str,
        who: &InstanceId,
        channel: Channel,
    ) -> Option<&mut super::link::Link> {
        let server = self.masters.get_mut(name)?.server_mut(who)?;
        server.link_mut(channel).as_mut()
    }

    fn next_reply(&mut self, link: LinkId) -> Option<(Expect, BytesFrame)> {
        let (name, who, channel) = self.find(link)?;
        match self.link_mut(&name, &who, channel)?.next_reply() {
            Ok(reply) => reply,
            Err(_) => {
                let server = self.masters.get_mut(&name)?.server_mut(&who)?;
                let broken = server.link_mut(channel).take();
                self.core.hang_up(broken);
                None
            }
        }
    }

    fn handle_reply(&mut self, link: LinkId, (expect, reply): (Expect, BytesFrame)) {
        let Some((name, who, channel)) = self.find(link) else {
            return;
        };
        let Some(master) = self.masters.get_mut(&name) else {
            return;
        };
        let core = &mut self.core;
        if channel == Channel::Hellos {
            if let Some(server) = master.server_mut(&who) {
                server.note_reply(core);
            }
            if let Some(text) = message(&reply) {
                self.take_hello(&text);
            }
            return;
        }
        match (expect, &reply) {
            (Expect::Ping, reply) => {
                if let Some(server) = master.server_mut(&who) {
                    server.ponged(core, reply);
                }
            }
            (Expect::Info, BytesFrame::BulkString(text)) => {
                master.refresh(core, &who, &String::from_utf8_lossy(text));
            }
            (Expect::MasterDown, reply) => {
                if let InstanceId::Peer(run_id) = &who {
                    master.told_down(core, run_id, reply);
                }
            }
            _ => {}
        }
    }

    /// Handles a hello, from either source. The sentinel's own hellos are ignored.
    pub(super) fn take_hello(&mut self, text: &str) {
        if let Some(hello) = Hello::parse(text)
            && hello.run_id != self.core.run_id
            && let Some(master) = self.masters.get_mut(hello.name)
        {
            master.greet(&mut self.core, &hello);
        }
    }

    /// Accepts a client connection.
    pub fn accept(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.core.clients.insert(conn, Client::default());
        conn
    }

    /// Handles the end of a client connection.
    pub fn closed(&mut self, conn: ConnId) {
        self.core.clients.remove(&conn);
    }

    /// Handles bytes from a client.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now_ms: i64, effects: &mut Vec<Effect>) {
        self.core.now_ms = now_ms;
        if let Some(client) = self.core.clients.get_mut(&conn) {
            client.inbound.extend_from_slice(bytes);
        }
        while let Some(client) = self.core.clients.get_mut(&conn) {
            let (words, len): (Vec<Bytes>, _) = match client.parser.next(&client.inbound) {
                Parsed::Multibulk { args, len } => {
                    let copy = |arg: &[u8]| Bytes::copy_from_slice(arg);
                    (args.into_iter().map(copy).collect(), len)
                }
                Parsed::Inline { args, len } => (args.into_iter().map(Bytes::from).collect(), len),
                Parsed::Incomplete => break,
                Parsed::Malformed(error) => {
                    command::refuse(self, conn, &String::from_utf8_lossy(error.text()));
                    break;
                }
            };
            client.inbound.advance(len);
            command::serve(self, conn, &words);
        }
        self.finish(effects);
    }

    /// The size of a client's incomplete request, in bytes. The driver decides on the limit.
    pub fn pending_bytes(&self, conn: ConnId) -> usize {
        let client = self.core.clients.get(&conn);
        client.map_or(0, |client| client.inbound.len())
    }
}

/// The payload of a message on a channel.
fn message(frame: &BytesFrame) -> Option<String> {
    let BytesFrame::Array(items) = frame else {
        return None;
    };
    match &items[..] {
        [
            BytesFrame::BulkString(kind),
            _,
            BytesFrame::BulkString(payload),
        ] if kind.as_ref() == b"message" => Some(String::from_utf8_lossy(payload).into_owned()),
        _ => None,
    }
}
