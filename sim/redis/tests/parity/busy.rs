//! Scripts that take too long: the replies to other clients, and the end of such a script.
//!
//! A real server is busy once it has replied BUSY to another client; the node is given enough
//! time to become busy.

use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};
use locklab_testing::{try_until, until};

use crate::real::{RealClient, RealServer};
use crate::wire::{request, words};

/// How long scripts may run before other clients get BUSY, on both servers.
const THRESHOLD_MS: u64 = 50;
/// Well beyond that, on the node.
const LONG: Duration = Duration::from_millis(250);
/// Between two requests, on the node.
const SHORT: Duration = Duration::from_millis(60);

/// A real server and a node with two connections each: `0` runs scripts, `1` observes.
struct Both {
    server: RealServer,
    real: [RealClient; 2],
    node: Node,
    fake: [ConnId; 2],
    now_us: u64,
    failures: Vec<String>,
}

impl Both {
    fn start() -> Self {
        let server = RealServer::start();
        let mut node = Node::new(NodeConfig::default());
        let mut both = Both {
            real: [server.connect(), server.connect()],
            fake: [node.accept(), node.accept()],
            node,
            now_us: 1_700_000_000_000_000,
            failures: Vec::new(),
            server,
        };
        both.say(
            1,
            &format!("CONFIG SET busy-reply-threshold {THRESHOLD_MS}"),
        );
        both
    }

    /// Sends a request on a connection of both, and compares the replies on both. Extra
    /// output is detected with the next request.
    fn say(&mut self, connection: usize, line: &str) {
        let effects = self.send(connection, line, SHORT);
        self.compare(line, &effects);
    }

    /// The same with a request that makes a script run for long.
    fn say_long(&mut self, line: &str) {
        let effects = self.send(0, line, LONG);
        let mut second_client = self.server.connect();
        until(|| match second_client.request(b"PING\r\n") {
            busy if busy.starts_with(b"-BUSY") => Ok(()),
            reply => Err(format!("{line}: {}", reply.escape_ascii())),
        });
        self.compare(line, &effects);
    }

    /// The effects on the node if this much time passes.
    fn send(&mut self, connection: usize, line: &str, time: Duration) -> Vec<Effect> {
        let request = request(&words(&line.replace("\\n", "\n"), '`'));
        let mut effects = Vec::new();
        let conn = self.fake[connection];
        self.node.receive(conn, &request, self.now_us, &mut effects);
        self.real[connection].send(&request);
        self.now_us += time.as_micros() as u64;
        self.node.wake(self.now_us, &mut effects);
        effects
    }

    fn compare(&mut self, line: &str, effects: &[Effect]) {
        let exits = effects.contains(&Effect::Exit);
        for (connection, client) in self.real.iter_mut().enumerate() {
            let fake = sent(effects, self.fake[connection]);
            let (mut real, mut closed) = (Vec::new(), false);
            let alike = try_until(|| {
                let (more, ends) = client.arrived();
                real.extend(more);
                closed |= ends;
                if real == fake && closed == exits {
                    return Ok(());
                }
                Err(format!(
                    "{line}\n  {connection} real: {}{}\n  {connection} fake: {}{}",
                    real.escape_ascii(),
                    if closed { " closed" } else { "" },
                    fake.escape_ascii(),
                    if exits { " exits" } else { "" },
                ))
            });
            self.failures.extend(alike.err());
        }
    }

    fn end(self) {
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

fn sent(effects: &[Effect], to: ConnId) -> Vec<u8> {
    let bytes = effects.iter().filter_map(|effect| match effect {
        Effect::Send { conn, bytes } if *conn == to => Some(&bytes[..]),
        _ => None,
    });
    bytes.collect::<Vec<_>>().concat()
}

#[test]
fn replies_to_other_clients_during_a_script() {
    let mut both = Both::start();
    both.say_long("EVAL `while true do end` 0");
    for line in [
        "GET a",
        "PING",
        "nope",
        "GET",
        "AUTH x",
        "CLIENT ID",
        "EVAL x 0",
        "SHUTDOWN",
        "SHUTDOWN SAVE",
        "SHUTDOWN x",
        "SHUTDOWN ABORT",
        "MULTI",
        "GET a",
        "EXEC",
        "DISCARD",
        "MULTI",
        "DISCARD",
        "WATCH a",
        "UNWATCH",
        "SUBSCRIBE a",
        "CONFIG GET hz",
        "SCRIPT",
        "SCRIPT EXISTS a",
        "PUBLISH a b",
        "REPLCONF ACK 1",
        "RESET",
    ] {
        both.say(1, line);
    }
    // It waits for the script.
    both.say(0, "SET a 1");
    both.say(1, "SCRIPT KILL");
    both.say(1, "GET a");
    both.say(1, "SCRIPT KILL");
    both.end();
}

#[test]
fn a_script_cannot_catch_its_end() {
    let mut both = Both::start();
    for script in [
        "\\nwhile true do pcall(function() while true do end end) end",
        "while true do\\n  redis.pcall('get', 'x')\\nend",
    ] {
        both.say_long(&format!("EVAL `{script}` 0"));
        both.say(1, "PING");
        both.say(1, "SCRIPT KILL");
        both.say(1, "PING");
    }
    both.end();
}

#[test]
fn transaction_continues_after_its_script() {
    let mut both = Both::start();
    for line in ["MULTI", "SET a 1", "EVAL `while true do end` 0", "SET b 2"] {
        both.say(0, line);
    }
    both.say_long("EXEC");
    both.say(1, "MGET a b");
    both.say(1, "SCRIPT KILL");
    both.say(1, "MGET a b");
    both.end();
}

#[test]
fn a_script_that_wrote_cannot_be_killed() {
    let mut both = Both::start();
    both.say_long("EVAL `redis.pcall('set', 'k', 'v') while true do end` 0");
    for line in ["SCRIPT KILL", "GET k", "SHUTDOWN NOSAVE"] {
        both.say(1, line);
    }
    both.end();
}
