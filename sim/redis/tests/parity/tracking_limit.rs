//! `tracking-table-max-keys`: which keys are dropped from the table is chance, so only how many,
//! when, and who hears of it are compared.

use locklab_redis::{ConnId, Effect, Node};

use crate::real::{RealClient, RealServer};
use crate::versions;

/// A real server and a node, with two clients each.
struct Both {
    clock: RealClient,
    real: [RealClient; 2],
    _server: RealServer,
    node: Node,
    fake: [ConnId; 2],
    heard: [Vec<u8>; 2],
}

impl Both {
    fn start(limit: u32) -> Self {
        let server = RealServer::start();
        let mut node = Node::new(versions::node_config());
        let mut both = Both {
            clock: server.connect(),
            real: [server.connect(), server.connect()],
            _server: server,
            fake: [node.accept(), node.accept()],
            node,
            heard: Default::default(),
        };
        let limit = format!("CONFIG SET tracking-table-max-keys {limit}\r\n");
        // Only between two commands, never between two ticks.
        both.send(1, &format!("CONFIG SET hz 1\r\n{limit}"));
        both.send(0, "HELLO 3\r\n");
        both.differences();
        both
    }

    /// Sends several requests together: the real server handles them without a tick in between.
    fn send(&mut self, client: usize, lines: &str) {
        let now_us = self.clock.time_us();
        self.real[client].send(lines.as_bytes());
        let conn = self.fake[client];
        let mut effects = Vec::new();
        self.node
            .receive(conn, lines.as_bytes(), now_us, &mut effects);
        self.take(effects);
        self.clock.time_us();
        self.clock.time_us();
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Send { conn, bytes } = effect {
                let client = usize::from(conn == self.fake[1]);
                self.heard[client].extend_from_slice(&bytes);
            }
        }
    }

    /// Lets a tick of both servers pass.
    fn tick(&mut self) {
        self.clock.pass(std::time::Duration::from_millis(1200));
        let now_us = self.clock.time_us();
        while self.node.next_wake_us().is_some_and(|us| us <= now_us) {
            let mut effects = Vec::new();
            self.node.wake(now_us, &mut effects);
            self.take(effects);
        }
    }

    /// The messages to both clients of the real server and of the node, without the names of keys.
    fn differences(&mut self) -> [[String; 2]; 2] {
        let fake = self.heard.each_mut().map(std::mem::take);
        let real = self.real.each_mut().map(|client| client.arrived().0);
        [real, fake].map(|heard| heard.map(|bytes| nameless(&bytes)))
    }

    #[track_caller]
    fn compare(&mut self) -> String {
        let [real, fake] = self.differences();
        assert_eq!(fake, real);
        real.concat()
    }
}

/// The keys are single letters.
fn nameless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_key = |line: &str| line.len() == 1 && line.as_bytes()[0].is_ascii_lowercase();
    let lines = text
        .split("\r\n")
        .map(|line| if is_key(line) { "KEY" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn command_evicts_excess_tracked_keys() {
    if versions::skips_test() {
        return;
    }
    let mut both = Both::start(2);
    both.send(
        0,
        "CLIENT TRACKING on\r\nGET a\r\nGET b\r\nGET c\r\nPING\r\nMGET d e f\r\nNOSUCH\r\nGET\r\nGET g\r\nPING\r\n",
    );
    let heard = both.compare();
    assert_eq!(heard.matches("invalidate").count(), 5, "{heard}");
    // Only what reaches the limit's check drops anything, and of its own drops NOLOOP hears none.
    both.send(
        0,
        "CLIENT TRACKING off\r\nCLIENT TRACKING on NOLOOP\r\nGET h\r\nGET i\r\nGET j\r\n",
    );
    both.send(1, "PING\r\nCONFIG SET tracking-table-max-keys 0\r\n");
    both.compare();
    both.send(0, "GET k\r\nGET l\r\nGET m\r\nGET n\r\nPING\r\n");
    let heard = both.compare();
    assert!(!heard.contains("invalidate"), "0 is no limit: {heard}");
}

#[test]
fn tick_evicts_excess_tracked_keys() {
    if versions::skips_test() {
        return;
    }
    let mut both = Both::start(1);
    both.send(0, "CLIENT TRACKING on\r\nMGET a b c d\r\n");
    both.differences();
    both.tick();
    both.differences();
    both.send(0, "MGET a b c d\r\n");
    both.tick();
    let [real, fake] = both.differences();
    assert_eq!(fake, real);
    both.send(0, "PING\r\nINFO nope\r\n");
    both.compare();
}
