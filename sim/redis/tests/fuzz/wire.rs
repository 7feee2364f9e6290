//! Interprets bytes as the requests of several clients to a node, with their pieces and times.
//!
//! Shared by the test beside it and by the target in `fuzz/`, which lets libFuzzer find
//! the bytes.

use std::collections::BTreeMap;

use locklab_redis::resp::command;
use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// Words that turn random bytes into commands, with valid arguments.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "SET", "GET", "DEL", "INCRBY", "PEXPIRE", "PERSIST", "TTL",
    "RPUSH", "LPOP", "BLPOP", "BLMOVE", "LRANGE", "LREM", "HSET", "HGETALL", "HINCRBY",
    "SADD", "SREM", "SINTERSTORE", "ZADD", "ZRANGE", "ZRANGESTORE", "ZREMRANGEBYRANK", "SCAN", "KEYS",
    "OBJECT", "ENCODING", "TYPE",
    "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE",
    "PUBLISH", "CLIENT", "TRACKING", "ON", "OFF", "OPTIN", "NOLOOP", "PAUSE", "UNPAUSE",
    "LIST", "KILL", "ID", "CONFIG", "notify-keyspace-events", "KEA", "HELLO", "2", "3", "AUTH",
    "RESET", "QUIT", "PING", "ECHO", "INFO", "TIME", "COMMAND", "DEBUG", "SLEEP", "WAIT", "SHUTDOWN",
    "EVAL", "EVALSHA", "SCRIPT", "LOAD", "FLUSHALL", "DBSIZE",
    "appendonly", "appendfsync", "save", "yes", "no", "always", "everysec", "REPLICAOF", "NO", "ONE",
    "PSYNC", "?", "REPLCONF", "ACK", "FAILOVER", "ABORT", "TIMEOUT", "WAITAOF", "ALL", "WRITE",
    "return redis.call('SET', KEYS[1], ARGV[1])", "return {1, {2, 'x'}, redis.call('GET', 'k')}",
    "NX", "XX", "PX", "EX", "KEEPTTL", "WITHSCORES", "LIMIT", "BYSCORE", "REV", "COUNT", "LEFT",
    "RIGHT", "MATCH", "*", "k", "l", "h", "s", "z", "c", "0", "1", "-1", "0.01", "10", "1000", "inf",
    "-inf", "(1", "[a", "+", "-", "1e308", "9223372036854775807", "-9223372036854775808", "nan", "",
    "{\"a\":[1,2]}", "\u{93}\u{1}\u{c0}", "a", "b\r\nc", "\u{0}", "SELECT",
    "FLUSHDB", "DB", "15",
];

/// The number of clients connected at a time.
const CLIENTS: usize = 4;

/// The most that one input may make the node buffer for one client: the input is far smaller.
const MAX_PENDING_BYTES: usize = 1 << 20;

/// Runs an input.
///
/// # Panics
///
/// If the node panics, buffers too much, requests wake-ups without end, or sends invalid RESP.
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

struct Player {
    node: Node,
    /// The unsent bytes of each client.
    clients: BTreeMap<ConnId, Vec<u8>>,
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
            self.clients.insert(self.node.accept(), Vec::new());
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
                let words: Vec<&[u8]> = (0..count)
                    .map(|_| usize::from(input.byte().unwrap_or(0)) % WORDS.len())
                    .map(|index| WORDS[index].as_bytes())
                    .collect();
                self.say(conn, &command(&words));
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
            // Time advances, or goes back.
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
        if let Some(unsent) = self.clients.get_mut(&conn) {
            unsent.extend_from_slice(bytes);
        }
    }

    fn send(&mut self, conn: ConnId, most: usize) {
        let Some(unsent) = self.clients.get_mut(&conn) else {
            return;
        };
        let bytes: Vec<u8> = unsent.drain(..most.min(unsent.len())).collect();
        let mut effects = Vec::new();
        self.node.receive(conn, &bytes, self.wall_us, &mut effects);
        assert!(self.node.input_size(conn).bytes <= MAX_PENDING_BYTES);
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
                    assert!(self.clients.contains_key(&conn), "sent to nobody");
                    // Only complete replies: no bytes may be left over.
                    let mut rest = &bytes[..];
                    while !rest.is_empty() {
                        rest = after_reply(rest)
                            .unwrap_or_else(|| panic!("no RESP: {}", bytes.escape_ascii()));
                    }
                }
                Effect::Close { conn } => {
                    self.clients.remove(&conn).expect("it was connected");
                }
                // There is no other server to be a replica of.
                Effect::Connect { conn, .. } => self.node.closed(conn),
                Effect::Disk(_) => {}
                Effect::Exit => self.over = true,
            }
        }
    }

    /// Advances time as long as any event is due within a minute: that must terminate.
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

/// The bytes after the first reply, of RESP2 or RESP3; `None` if it is incomplete. An error
/// may quote any bytes, so a decoder that requires UTF-8 cannot be used.
fn after_reply(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let (line, rest) = (&bytes[1..end], &bytes[end + 2..]);
    let number = || std::str::from_utf8(line).ok()?.parse::<i64>().ok();
    match bytes[0] {
        b'+' | b'-' => Some(rest),
        b':' => number().map(|_| rest),
        b'_' | b',' | b'#' | b'(' => Some(rest),
        b'$' | b'*' if line == b"-1" => Some(rest),
        b'$' | b'=' => {
            let (text, rest) = rest.split_at_checked(usize::try_from(number()?).ok()?)?;
            match text.starts_with(b"REDIS00") {
                // A snapshot for a replica has no end of line.
                true => Some(rest),
                false => rest.strip_prefix(b"\r\n"),
            }
        }
        b'*' | b'~' | b'>' => (0..number()?).try_fold(rest, |rest, _| after_reply(rest)),
        b'%' => (0..2 * number()?).try_fold(rest, |rest, _| after_reply(rest)),
        _ => None,
    }
}
