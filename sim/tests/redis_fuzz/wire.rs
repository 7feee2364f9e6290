//! Bytes that decide what several clients send to a node, in which pieces, and when.
//!
//! Shared by the test beside it and by the target in `fuzz/`, which lets libFuzzer find
//! the bytes.

use std::collections::BTreeMap;

use bytes::BytesMut;
use locklab_sim::redis::{ConnId, Effect, Node, NodeConfig};
use redis_protocol::resp2::decode::decode_bytes_mut as decode_v2;
use redis_protocol::resp3::decode::complete::decode_bytes_mut as decode_v3;

/// Words that make commands out of chance, with arguments that some command takes.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "SET", "GET", "DEL", "INCRBY", "APPEND", "SETRANGE", "GETEX", "PEXPIRE", "PERSIST", "TTL",
    "RPUSH", "LPOP", "BLPOP", "BLMOVE", "LRANGE", "LPOS", "LREM", "HSET", "HGETALL", "HINCRBYFLOAT",
    "SADD", "SPOP", "SRANDMEMBER", "SINTERSTORE", "ZADD", "ZRANGE", "ZRANGESTORE", "BZPOPMIN",
    "ZPOPMAX", "ZREMRANGEBYRANK", "SCAN", "KEYS", "RENAME", "COPY", "OBJECT", "ENCODING", "TYPE",
    "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE",
    "PUBLISH", "CLIENT", "TRACKING", "ON", "OFF", "BCAST", "REPLY", "SKIP", "PAUSE", "UNPAUSE",
    "LIST", "KILL", "ID", "CONFIG", "notify-keyspace-events", "KEA", "HELLO", "2", "3", "AUTH",
    "RESET", "QUIT", "PING", "ECHO", "INFO", "TIME", "COMMAND", "DEBUG", "SLEEP", "WAIT", "SHUTDOWN",
    "EVAL", "EVALSHA", "SCRIPT", "LOAD", "FLUSHALL", "DBSIZE", "RANDOMKEY",
    "return redis.call('SET', KEYS[1], ARGV[1])", "return {1, {2, 'x'}, redis.call('GET', 'k')}",
    "return cjson.decode(ARGV[1])", "return cmsgpack.unpack(ARGV[1])",
    "NX", "XX", "PX", "EX", "KEEPTTL", "WITHSCORES", "LIMIT", "BYSCORE", "REV", "COUNT", "LEFT",
    "RIGHT", "MATCH", "*", "k", "l", "h", "s", "z", "c", "0", "1", "-1", "0.01", "10", "1000", "inf",
    "-inf", "(1", "[a", "+", "-", "1e308", "9223372036854775807", "-9223372036854775808", "nan", "",
    "{\"a\":[1,2]}", "\u{93}\u{1}\u{c0}", "a", "b\r\nc", "\u{0}",
];

/// So many clients are connected at a time.
const CLIENTS: usize = 4;

/// What one input may make the node keep for one client: the input is far smaller.
const MOST_PENDING_BYTES: usize = 1 << 20;

/// Plays an input.
///
/// # Panics
///
/// If the node panics, keeps too much, wants to be woken for ever, or sends what is no
/// RESP.
pub fn play(input: &[u8]) {
    let mut player = Player::new();
    let mut input = Input(input);
    while let Some(step) = input.byte() {
        player.step(step, &mut input);
        if player.over {
            return;
        }
    }
    player.settle();
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// A request in several pieces, of which one is sent at a time.
#[derive(Default)]
struct Client {
    unsent: Vec<u8>,
    /// What arrived and is no whole reply yet.
    received: BytesMut,
    /// It may have chosen RESP3: HELLO was among what it was sent to say.
    said_hello: bool,
}

struct Player {
    node: Node,
    clients: BTreeMap<ConnId, Client>,
    wall_us: u64,
    over: bool,
}

impl Player {
    fn new() -> Self {
        Player {
            node: Node::new(NodeConfig::default()),
            clients: BTreeMap::new(),
            wall_us: 1_700_000_000_000_000,
            over: false,
        }
    }

    fn step(&mut self, step: u8, input: &mut Input<'_>) {
        while self.clients.len() < CLIENTS {
            self.clients.insert(self.node.accept(), Client::default());
        }
        let number = usize::from(step >> 3) % CLIENTS;
        let conn = *self
            .clients
            .keys()
            .nth(number)
            .expect("as many as there are");
        let size = usize::from(input.byte().unwrap_or(0));
        match step & 7 {
            // A request of words.
            0..=3 => {
                let count = 1 + size % 8;
                let mut request = format!("*{count}\r\n").into_bytes();
                for _ in 0..count {
                    let word = WORDS[usize::from(input.byte().unwrap_or(0)) % WORDS.len()];
                    request.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
                }
                self.say(conn, &request);
                self.send(conn, if step & 1 == 0 { usize::MAX } else { size });
            }
            // Bytes as they are.
            4 => {
                let bytes = input.take(size).to_vec();
                self.say(conn, &bytes);
                self.send(conn, usize::MAX);
            }
            5 => self.send(conn, size),
            6 => {
                self.node.closed(conn);
                self.clients.remove(&conn);
            }
            // Time goes on, or back.
            _ => {
                let by_us = 1 << (size % 40);
                self.wall_us = match size & 64 {
                    0 => self.wall_us + by_us,
                    _ => self.wall_us.saturating_sub(by_us),
                };
                self.wake();
            }
        }
    }

    fn say(&mut self, conn: ConnId, bytes: &[u8]) {
        if let Some(client) = self.clients.get_mut(&conn) {
            client.unsent.extend_from_slice(bytes);
            let hello = |five: &[u8]| five.eq_ignore_ascii_case(b"hello");
            client.said_hello |= client.unsent.windows(5).any(hello);
        }
    }

    fn send(&mut self, conn: ConnId, most: usize) {
        let Some(client) = self.clients.get_mut(&conn) else {
            return;
        };
        let len = most.min(client.unsent.len());
        let bytes: Vec<u8> = client.unsent.drain(..len).collect();
        let mut effects = Vec::new();
        self.node.receive(conn, &bytes, self.wall_us, &mut effects);
        assert!(self.node.pending_bytes(conn) <= MOST_PENDING_BYTES);
        self.carry_out(effects);
    }

    fn wake(&mut self) {
        let mut effects = Vec::new();
        self.node.wake(self.wall_us, &mut effects);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { conn, bytes } => {
                    let client = self.clients.get_mut(&conn).expect("it is connected");
                    client.received.extend_from_slice(&bytes);
                    client.decode();
                }
                Effect::Close { conn } => {
                    self.clients.remove(&conn).expect("it was connected");
                }
                Effect::Exit => self.over = true,
            }
        }
    }

    /// Lets time pass as long as anything is due within a minute: that has an end.
    fn settle(&mut self) {
        let end_us = self.wall_us + 60_000_000;
        for _ in 0..10_000 {
            match self.node.next_wake_us() {
                Some(wake_us) if wake_us <= end_us => {
                    self.wall_us = self.wall_us.max(wake_us);
                    self.wake();
                }
                _ => return,
            }
        }
        panic!("woken ten thousand times in a minute");
    }
}

impl Client {
    /// The node sends whole replies, so nothing may be left.
    fn decode(&mut self) {
        let bytes = self.received.clone();
        let all_v2 = || {
            let mut rest = bytes.clone();
            while !rest.is_empty() {
                if !without_null_array(&mut rest) && !matches!(decode_v2(&mut rest), Ok(Some(_))) {
                    return false;
                }
            }
            true
        };
        let all_v3 = || {
            let mut rest = bytes.clone();
            while !rest.is_empty() {
                if !matches!(decode_v3(&mut rest), Ok(Some(_))) {
                    return false;
                }
            }
            true
        };
        assert!(
            all_v2() || (self.said_hello && all_v3()),
            "no RESP: {}",
            bytes.escape_ascii()
        );
        self.received.clear();
    }
}

/// The decoder knows no null array; `EXEC` and a BLPOP that waited in vain answer it.
fn without_null_array(rest: &mut BytesMut) -> bool {
    let null = rest.starts_with(b"*-1\r\n");
    if null {
        let _ = rest.split_to(5);
    }
    null
}
