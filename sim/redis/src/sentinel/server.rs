//! The sentinel as its driver sees it: events go in, effects come out.

use bytes::{Buf, Bytes};
use locklab_vecmap::VecMap;

use super::command;
use super::config::SentinelConfig;
use super::core::{Client, Core};
use super::effect::{ConnId, Effect, LinkId};
use super::state::State;
use crate::wire::request::Parsed;

/// `SENTINEL_TILT_TRIGGER`: if the timer is late or early by this much, the clock is not
/// trusted.
const TILT_TRIGGER_MS: i64 = 2_000;

/// One `redis-sentinel`.
pub struct Sentinel {
    state: State,
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
        core.started_ms = now_ms;
        let mut state = State {
            core,
            masters: VecMap::new(),
        };
        match config.file {
            Some(file) => state.restore(file),
            None => {
                for monitor in config.monitor {
                    state.monitor(monitor);
                }
            }
        }
        Sentinel {
            state,
            next_conn: 1,
            next_tick_ms: None,
            last_tick_ms: now_ms,
        }
    }

    /// The run id, 40 hexadecimal digits.
    pub fn run_id(&self) -> &str {
        &self.state.core.run_id
    }

    /// The wall-clock time of the next call to [`Sentinel::wake`].
    pub fn next_wake_ms(&self) -> i64 {
        self.next_tick_ms.unwrap_or(self.last_tick_ms)
    }

    /// Runs the timer if it is due at `now_ms`, the wall-clock time (`sentinelTimer`).
    pub fn wake(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        self.state.core.now_ms = now_ms;
        // If the clock was set back, the timer runs and detects it.
        if now_ms >= self.next_wake_ms() || now_ms < self.last_tick_ms {
            self.tick();
        }
        self.finish(effects);
    }

    /// Collects the effects; the write of the configuration file comes first.
    fn finish(&mut self, effects: &mut Vec<Effect>) {
        if std::mem::take(&mut self.state.core.unsaved) {
            effects.push(Effect::Write(self.state.file()));
        }
        effects.append(&mut self.state.core.effects);
    }

    fn tick(&mut self) {
        let core = &mut self.state.core;
        let passed_ms = core.since(self.last_tick_ms);
        if !(0..=TILT_TRIGGER_MS).contains(&passed_ms) {
            core.tilt_since_ms = Some(core.now_ms);
            core.event("+tilt", "#tilt mode entered");
        }
        self.last_tick_ms = core.now_ms;
        for master in self.state.masters.values_mut() {
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
        self.state.core.now_ms = now_ms;
        self.state.receive(link, bytes);
        self.finish(effects);
    }

    /// Handles a link that closed or could not be connected.
    pub fn link_closed(&mut self, link: LinkId, now_ms: i64) {
        self.state.core.now_ms = now_ms;
        self.state.lose(link);
    }

    /// Accepts a client connection.
    pub fn accept(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.state.core.clients.insert(conn, Client::default());
        conn
    }

    /// Handles the end of a client connection.
    pub fn closed(&mut self, conn: ConnId) {
        self.state.core.clients.remove(&conn);
    }

    /// Handles bytes from a client.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now_ms: i64, effects: &mut Vec<Effect>) {
        self.state.core.now_ms = now_ms;
        if let Some(client) = self.state.core.clients.get_mut(&conn) {
            client.inbound.extend_from_slice(bytes);
        }
        while let Some(client) = self.state.core.clients.get_mut(&conn) {
            let (words, len): (Vec<Bytes>, _) = match client.parser.next(&client.inbound) {
                Parsed::Multibulk { args, len } => {
                    let copy = |arg: &[u8]| Bytes::copy_from_slice(arg);
                    (args.into_iter().map(copy).collect(), len)
                }
                Parsed::Inline { args, len } => (args.into_iter().map(Bytes::from).collect(), len),
                Parsed::Incomplete => break,
                Parsed::Malformed(error) => {
                    let text = String::from_utf8_lossy(error.text());
                    command::refuse(&mut self.state, conn, &text);
                    break;
                }
            };
            client.inbound.advance(len);
            command::serve(&mut self.state, conn, &words);
        }
        self.finish(effects);
    }

    /// The size of a client's incomplete request, in bytes. The driver decides on the limit.
    pub fn pending_bytes(&self, conn: ConnId) -> usize {
        let client = self.state.core.clients.get(&conn);
        client.map_or(0, |client| client.inbound.len())
    }
}
