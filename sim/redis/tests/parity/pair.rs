//! A real server and a fake node side by side, and a check that they agree.

use std::time::Duration;

use locklab_redis::resp::command;
use locklab_redis::{ConnId, Effect, Node};

use crate::data::Servers;
use crate::real::{RealClient, RealServer};
use crate::versions;
use crate::wire::{Likeness, alike};

/// Both servers, each with the same connections.
pub struct Pair {
    server: RealServer,
    /// Asks the real server for the time.
    clock: RealClient,
    real: Vec<RealClient>,
    node: Node,
    fake: Vec<ConnId>,
}

impl Pair {
    /// Two empty servers with this many connections each.
    pub fn start(connections: usize) -> Self {
        let server = RealServer::start();
        let mut node = Node::new(versions::node_config());
        // As for the real server, the time of background deletion is random.
        let admin = node.accept();
        let request = b"DEBUG SET-ACTIVE-EXPIRE 0\r\n";
        node.receive(admin, request, 0, &mut Vec::new());
        Pair {
            clock: server.connect(),
            real: (0..connections).map(|_| server.connect()).collect(),
            fake: (0..connections).map(|_| node.accept()).collect(),
            server,
            node,
        }
    }

    /// Sends a request on a connection of both servers; returns the difference of the
    /// replies.
    pub fn compare(
        &mut self,
        connection: usize,
        words: &[&[u8]],
        likeness: Likeness,
    ) -> Result<Vec<u8>, String> {
        let (real, fake) = self.replies(connection, words);
        if alike(&real, &fake, likeness) {
            return Ok(fake);
        }
        let line = words.join(&b' ').escape_ascii().to_string();
        if versions::excuses(&line) {
            return Ok(fake);
        }
        Err(format!(
            "{line}\n  real: {}\n  fake: {}",
            real.escape_ascii(),
            fake.escape_ascii()
        ))
    }

    /// Sends a request on a connection of both servers; returns the replies of the real one and
    /// of the fake.
    pub fn replies(&mut self, connection: usize, words: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
        let request = command(words);
        let now_us = self.now_us();
        let real = self.real[connection].request(&request);
        let fake = sent(&self.receive(self.fake[connection], &request, now_us));
        (real, fake)
    }

    /// Sends bytes on a new connection of both servers, which stays; no reply is awaited.
    pub fn send(&mut self, bytes: &[u8]) {
        self.send_to_each(bytes, bytes);
    }

    /// Like [`Pair::send`], with a request that names the history of the server it goes to.
    pub fn send_with_id(&mut self, request: impl Fn(&str) -> String) {
        let (real, fake) = self.replies(0, &[b"INFO", b"replication"]);
        let [real, fake] = [real, fake].map(|info| {
            let info = String::from_utf8_lossy(&info);
            let mut lines = info.lines();
            let id = lines.find_map(|line| line.strip_prefix("master_replid:"));
            request(id.expect("INFO names the history"))
        });
        self.send_to_each(real.as_bytes(), fake.as_bytes());
    }

    fn send_to_each(&mut self, real: &[u8], fake: &[u8]) {
        let mut client = self.server.connect();
        client.send(real);
        self.real.push(client);
        let now_us = self.now_us();
        let conn = self.node.accept();
        self.receive(conn, fake, now_us);
        self.fake.push(conn);
        // The real server has handled it when it answers twice.
        self.now_us();
    }

    /// Sends arbitrary bytes on a new connection and closes it; returns the difference of the
    /// replies.
    pub fn compare_raw(&mut self, bytes: &[u8]) -> Result<(), String> {
        let now_us = self.now_us();
        let real = self.server.connect().finish(bytes);
        let conn = self.node.accept();
        let fake = sent(&self.receive(conn, bytes, now_us));
        self.node.closed(conn);
        if real == fake {
            return Ok(());
        }
        let shown = &bytes[..bytes.len().min(200)];
        Err(format!(
            "{}\n  real: {}\n  fake: {}",
            shown.escape_ascii(),
            real.escape_ascii(),
            fake.escape_ascii()
        ))
    }

    /// The real server's clock, in microseconds since the Unix epoch.
    fn now_us(&mut self) -> u64 {
        self.clock.time_us()
    }

    fn receive(&mut self, conn: ConnId, bytes: &[u8], now_us: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.node.receive(conn, bytes, now_us, &mut effects);
        effects
    }
}

impl Servers for Pair {
    /// Resets everything that a client can observe on both servers.
    fn clear(&mut self) {
        const NO_LIMIT: &[&[u8]] = &[
            b"CONFIG",
            b"SET",
            b"maxmemory",
            b"0",
            b"maxmemory-policy",
            b"noeviction",
        ];
        for connection in 0..self.fake.len() {
            let cleared = self
                .compare(connection, &[b"RESET"], Likeness::Bytes)
                .and_then(|_| self.compare(connection, NO_LIMIT, Likeness::Bytes))
                .and_then(|_| self.compare(connection, &[b"FLUSHALL"], Likeness::Bytes))
                .and_then(|_| self.compare(connection, &[b"SCRIPT", b"FLUSH"], Likeness::Bytes));
            cleared.expect("both servers can be cleared");
        }
    }

    fn tell(&mut self, _: usize, words: &[Vec<u8>]) {
        panic!("each reply is awaited: {words:?}");
    }

    fn say(&mut self, connection: usize, words: &[Vec<u8>], likeness: Likeness) -> Vec<String> {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let compared = self.compare(connection - 1, &words, likeness);
        compared.err().into_iter().collect()
    }

    /// Lets time pass on the real server, whose clock the node uses.
    fn sleep(&mut self, time: Duration, _: Likeness) -> Vec<String> {
        self.clock.pass(time);
        Vec::new()
    }
}

fn sent(effects: &[Effect]) -> Vec<u8> {
    let mut all = Vec::new();
    for effect in effects {
        if let Effect::Send { bytes, .. } = effect {
            all.extend_from_slice(bytes);
        }
    }
    all
}
