//! Several connections that receive each other's events: after each request, the output on
//! all connections must be the same from both servers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use locklab_redis::{ConnId, Effect, Node};

use crate::data::Servers;
use crate::real::{RealClient, RealServer};
use crate::versions;
use crate::wire::{Likeness, alike_all, request};

/// A real server and a fake node, with the connections of the current case.
pub struct Talk {
    server: RealServer,
    /// A connection to the real server for its time, and to detect that all requests are
    /// done.
    clock: RealClient,
    node: Node,
    admin: ConnId,
    clients: BTreeMap<usize, Client>,
    /// The time of the requests whose output is to be compared.
    told_us: Option<u64>,
}

struct Client {
    id: u64,
    real: RealClient,
    fake: ConnId,
    /// The output of the fake node since the last comparison.
    fake_sent: Vec<u8>,
    fake_closed: bool,
}

impl Talk {
    /// Two new servers.
    pub fn start() -> Self {
        let server = RealServer::start_anywhere();
        let mut node = Node::new(versions::node_config());
        Talk {
            clock: server.connect(),
            admin: node.accept(),
            server,
            node,
            clients: BTreeMap::new(),
            told_us: None,
        }
    }

    /// Waits until the real server knows that all connections but the clock's are closed. A process that
    /// another test starts has copies of our sockets until it executes its program, and keeps them open.
    fn await_ends(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while ids(&self.clock.request(LIST)).len() > 1 {
            assert!(Instant::now() < deadline, "a connection is still open");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn differences(&mut self, likeness: Likeness) -> Vec<String> {
        self.told_us = None;
        let now_us = self.settled_us();
        while self.node.next_wake_us().is_some_and(|us| us <= now_us) {
            let mut effects = Vec::new();
            self.node.wake(now_us, &mut effects);
            self.take(effects);
        }
        let mut differences = Vec::new();
        for (number, client) in &mut self.clients {
            let (real, real_closed) = client.real.arrived();
            let fake = std::mem::take(&mut client.fake_sent);
            let (real, fake) = (without_calls(&real), without_calls(&fake));
            let alike = alike_all(&real, &fake, likeness);
            if real_closed != client.fake_closed || !alike {
                let end = |closed| if closed { " closed" } else { "" };
                differences.push(format!(
                    "  {number} real: {}{}\n  {number} fake: {}{}",
                    real.escape_ascii(),
                    end(real_closed),
                    fake.escape_ascii(),
                    end(client.fake_closed),
                ));
            }
        }
        self.clients.retain(|_, client| !client.fake_closed);
        differences
    }

    fn open(&mut self, number: usize) {
        if self.clients.contains_key(&number) {
            return;
        }
        let real = self.server.connect();
        let now_us = self.settled_us();
        let id = newest(&self.clock.request(LIST));
        // The same number on both servers, so that requests can name it.
        let fake = loop {
            let conn = self.node.accept();
            let mut effects = Vec::new();
            self.node.receive(self.admin, LIST, now_us, &mut effects);
            let [Effect::Send { bytes, .. }] = &effects[..] else {
                panic!("CLIENT LIST: {effects:?}");
            };
            if newest(bytes) == id {
                break conn;
            }
            self.node.closed(conn);
        };
        let client = Client {
            id,
            real,
            fake,
            fake_sent: Vec::new(),
            fake_closed: false,
        };
        self.clients.insert(number, client);
    }

    /// `$2` is the client id of connection 2.
    fn with_ids(&self, word: &[u8]) -> Vec<u8> {
        let number = word.strip_prefix(b"$").and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            digits.parse::<usize>().ok()
        });
        match number.and_then(|number| self.clients.get(&number)) {
            Some(client) => client.id.to_string().into_bytes(),
            None => word.to_vec(),
        }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let (conn, bytes) = match effect {
                Effect::Send { conn, bytes } => (conn, Some(bytes)),
                Effect::Close { conn } => (conn, None),
                other => panic!("no case asks for {other:?}"),
            };
            let mut clients = self.clients.values_mut();
            if let Some(client) = clients.find(|client| client.fake == conn) {
                match bytes {
                    Some(bytes) => client.fake_sent.extend_from_slice(&bytes),
                    None => client.fake_closed = true,
                }
            }
        }
    }

    /// The time on the real server when all requests to it are done and all its output is
    /// sent: replies are sent at the end of a turn of its event loop, so the second request
    /// belongs to a later turn.
    fn settled_us(&mut self) -> u64 {
        self.clock.time_us();
        self.clock.time_us()
    }
}

impl Servers for Talk {
    /// Closes all connections and resets both servers to their initial state.
    fn clear(&mut self) {
        for (_, client) in std::mem::take(&mut self.clients) {
            self.node.closed(client.fake);
        }
        let now_us = self.settled_us();
        for request in [
            "CONFIG SET notify-keyspace-events \"\" requirepass \"\" min-replicas-to-write 0\r\n",
            "CLIENT UNPAUSE\r\n",
            "FLUSHALL\r\n",
        ] {
            let request = request.as_bytes();
            self.clock.request(request);
            self.node
                .receive(self.admin, request, now_us, &mut Vec::new());
        }
        self.await_ends();
    }

    /// Sends a request on a connection, which is opened if it is missing.
    fn tell(&mut self, number: usize, words: &[Vec<u8>]) {
        self.open(number);
        let words: Vec<Vec<u8>> = words.iter().map(|word| self.with_ids(word)).collect();
        let request = request(&words);
        let before_us = self.told_us.unwrap_or_else(|| self.settled_us());
        self.told_us = Some(before_us);
        let client = self.clients.get_mut(&number).expect("it was opened");
        client.real.send(&request);
        let fake = client.fake;
        let mut effects = Vec::new();
        self.node.receive(fake, &request, before_us, &mut effects);
        self.take(effects);
    }

    /// The same; returns the differences in the output of all connections.
    fn say(&mut self, number: usize, words: &[Vec<u8>], likeness: Likeness) -> Vec<String> {
        self.tell(number, words);
        self.differences(likeness)
    }

    /// Waits; returns the differences in the output during the wait.
    fn sleep(&mut self, duration: Duration, likeness: Likeness) -> Vec<String> {
        self.clock.pass(duration);
        self.differences(likeness)
    }
}

/// The output of a server, without the times and addresses of MONITOR's lines.
fn without_calls(sent: &[u8]) -> Cow<'_, [u8]> {
    let is_call = |line: &&[u8]| line.starts_with(b"+1") && line.contains(&b'[');
    if !sent.split(|b| *b == b'\n').any(|line| is_call(&line)) {
        return Cow::Borrowed(sent);
    }
    // The clock of the talk asks the real server for its time.
    let is_of_clock = |line: &&[u8]| is_call(line) && line.ends_with(b"\"TIME\"\r\n");
    let lines = sent.split_inclusive(|b| *b == b'\n');
    let plain = lines.filter(|line| !is_of_clock(line)).map(|line| {
        if !is_call(&line) {
            return line.to_vec();
        }
        let text = String::from_utf8_lossy(line);
        let (head, call) = text.split_once("] ").expect("a call has a place");
        let place = if head.ends_with(" lua") {
            "lua"
        } else {
            "address"
        };
        let db = head
            .split(['[', ' '])
            .nth(2)
            .expect("a call has a database");
        format!("+time [{db} {place}] {call}").into_bytes()
    });
    Cow::Owned(plain.collect::<Vec<_>>().concat())
}

const LIST: &[u8] = b"CLIENT LIST\r\n";

/// The greatest id in a CLIENT LIST.
fn newest(list: &[u8]) -> u64 {
    let newest = ids(list).into_iter().max();
    newest.expect("CLIENT LIST shows its own client")
}

/// The ids in a CLIENT LIST.
fn ids(list: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(list);
    text.split_whitespace()
        .filter_map(|word| word.strip_prefix("id=")?.parse().ok())
        .collect()
}
