//! A network whose sockets answer immediately, and whose time jumps to the next event.

use std::rc::Rc;

use bytes::Bytes;
use locklab_link::{LinkEffect, LinkRule, RuleId};
use locklab_values::dist::Dist;
use tokio::sync::Notify;

use crate::model::end::Side;
use crate::model::{ConnectionId, Effect, End, Meter, Network, Payload};
use crate::options::{Keep, Options};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

/// An event of a socket.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Greeted,
    Got(Side, String),
    Ended(Side),
    Reset(Side),
    Detached(Side),
}

/// How the server's process answers.
#[derive(Clone, Copy, PartialEq)]
pub enum Process {
    Accepts,
    Refuses,
    /// It answers when the test does.
    Hesitates,
}

pub struct Fixture {
    pub network: Network,
    pub now_ns: u64,
    pub process: Process,
    /// The events of the sockets, with their times.
    pub seen: Vec<(u64, Seen)>,
    meter: Rc<Meter>,
}

impl Fixture {
    /// Hosts `c1` and `n1`; latency is constant, in milliseconds.
    pub fn new(latency_ms: f64) -> Self {
        Self::with(Dist::Constant(latency_ms), 0.0)
    }

    pub fn with(latency: Dist, loss: f64) -> Self {
        Self::seeded(latency, loss, 1)
    }

    pub fn seeded(latency: Dist, loss: f64, seed: u64) -> Self {
        let options = Options {
            hosts: Default::default(),
            gates: Default::default(),
            latency,
            loss,
            seed,
            keep: Keep::Messages,
        };
        Self {
            network: Network::new(&options),
            now_ns: 0,
            process: Process::Accepts,
            seen: Vec::new(),
            meter: Meter::new(Rc::default()),
        }
    }

    /// Begins to connect `c1` to `n1`.
    pub fn open(&mut self) -> ConnectionId {
        let id = self.network.open("c1".into(), "n1".into(), self.now_ns);
        self.settle();
        id
    }

    /// An established connection; nothing was seen yet.
    pub fn established(&mut self) -> ConnectionId {
        let id = self.open();
        while !self.seen.iter().any(|(_, seen)| *seen == Seen::Greeted) {
            let next_ns = self.network.next_ns().expect("the handshake goes on");
            self.run_until(next_ns);
        }
        self.seen.clear();
        id
    }

    pub fn on_write(&mut self, end: End, text: &str) {
        let payload = Payload::new(Bytes::copy_from_slice(text.as_bytes()), &self.meter);
        self.network.on_write(end, payload, self.now_ns);
        self.settle();
    }

    pub fn ended(&mut self, end: End) {
        self.network.ended(end, self.now_ns);
        self.settle();
    }

    pub fn on_broken(&mut self, end: End) {
        self.network.on_broken(end, self.now_ns);
        self.settle();
    }

    pub fn act(&mut self, change: impl FnOnce(&mut Network, u64)) {
        change(&mut self.network, self.now_ns);
        self.settle();
    }

    /// Runs up to this time, with its events.
    pub fn run_until(&mut self, until_ns: u64) {
        while let Some(next_ns) = self.network.next_ns()
            && next_ns <= until_ns
        {
            self.now_ns = self.now_ns.max(next_ns);
            self.settle();
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    pub fn run_for(&mut self, for_ns: u64) {
        self.run_until(self.now_ns + for_ns);
    }

    /// Returns the events since the last call.
    pub fn take(&mut self) -> Vec<Seen> {
        let seen = std::mem::take(&mut self.seen);
        seen.into_iter().map(|(_, seen)| seen).collect()
    }

    pub fn install(&mut self, from: &str, to: &str, ways: Ways, effect: LinkEffect) -> RuleId {
        self.network.install(LinkRule {
            from: vec![from.into()],
            to: vec![to.into()],
            both_ways: ways == Ways::Both,
            effect,
        })
    }

    fn settle(&mut self) {
        loop {
            self.network.advance(self.now_ns);
            let Some(effect) = self.network.next_effect() else {
                return;
            };
            let seen = match effect {
                Effect::Connect(id) => {
                    match self.process {
                        Process::Accepts => self.network.connected(id, self.now_ns),
                        Process::Refuses => self.network.refused(id, self.now_ns),
                        Process::Hesitates => {}
                    }
                    continue;
                }
                Effect::Greet(_) => Seen::Greeted,
                Effect::Write(end, payload) => {
                    let text = String::from_utf8_lossy(payload.bytes()).into_owned();
                    Seen::Got(end.side, text)
                }
                Effect::EndStream(end) => Seen::Ended(end.side),
                Effect::Reset(end) => Seen::Reset(end.side),
                Effect::Detach(end) => Seen::Detached(end.side),
            };
            self.seen.push((self.now_ns, seen));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ways {
    One,
    Both,
}

pub fn got(side: Side, text: &str) -> Seen {
    Seen::Got(side, text.into())
}

#[test]
fn meter_reports_when_there_is_room_again() {
    let changed = Rc::new(Notify::new());
    let meter = Meter::new(changed.clone());
    let large = Payload::new(vec![0; 1 << 20].into(), &meter);
    let small = Payload::new(vec![0; 1].into(), &meter);
    assert!(!meter.has_room());
    drop(small);
    assert!(!meter.has_room());
    drop(large);
    assert!(meter.has_room());
}
