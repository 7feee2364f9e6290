//! Scripts that take too long: what others hear meanwhile, and how such a script ends.
//!
//! A real server is busy for as long as the test sleeps; the node is told that as much
//! time has passed.

use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

use crate::real::{RealClient, RealServer};
use crate::wire::{request, words};

/// For how long scripts may run before others hear BUSY, on both servers.
const THRESHOLD_MS: u64 = 50;
/// Well beyond that: what is sent to a server that is not busy yet waits.
const PATIENCE: Duration = Duration::from_millis(250);
/// For what is said to be there, and no more.
const REPLY: Duration = Duration::from_millis(60);

/// A real server and a node with two connections each: `0` runs scripts, `1` looks on.
struct Both {
    /// Kills the process in the end.
    _server: RealServer,
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
            _server: server,
        };
        both.say(
            1,
            &format!("CONFIG SET busy-reply-threshold {THRESHOLD_MS}"),
        );
        both
    }

    /// Sends a request on a connection of both, waits, and compares what came on both.
    fn say(&mut self, connection: usize, line: &str) {
        self.say_and_wait(connection, line, REPLY);
    }

    fn say_and_wait(&mut self, connection: usize, line: &str, wait: Duration) {
        let request = request(&words(&line.replace("\\n", "\n"), '`'));
        let mut effects = Vec::new();
        let conn = self.fake[connection];
        self.node.receive(conn, &request, self.now_us, &mut effects);
        self.real[connection].send(&request);
        std::thread::sleep(wait);
        self.now_us += wait.as_micros() as u64;
        self.node.wake(self.now_us, &mut effects);
        for (connection, real) in self.real.iter_mut().enumerate() {
            let (real, closed) = real.arrived();
            let fake = sent(&effects, self.fake[connection]);
            let exits = effects.contains(&Effect::Exit);
            if without_durations(&real) != without_durations(&fake) || closed != exits {
                self.failures.push(format!(
                    "{line}\n  {connection} real: {}{}\n  {connection} fake: {}{}",
                    real.escape_ascii(),
                    if closed { " closed" } else { "" },
                    fake.escape_ascii(),
                    if exits { " exits" } else { "" },
                ));
            }
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

/// FUNCTION STATS has one that is nobody's to predict.
fn without_durations(text: &[u8]) -> String {
    let text = text.escape_ascii().to_string();
    match text.split_once("duration_ms\\r\\n:") {
        None => text,
        Some((before, after)) => {
            let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}duration_ms\\r\\n:N{after}")
        }
    }
}

const LIBRARY: &str = "FUNCTION LOAD `#!lua name=lib\\nredis.register_function('loop', function() while true do end end)\\nredis.register_function('w', function(k) redis.call('set', k[1], 'v') while true do end end)`";

#[test]
fn what_others_hear_of_a_script() {
    let mut both = Both::start();
    both.say_and_wait(0, "EVAL `while true do end` 0", PATIENCE);
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
        "FUNCTION STATS",
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
        "FUNCTION KILL",
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
fn what_others_hear_of_a_function() {
    let mut both = Both::start();
    both.say(0, LIBRARY);
    both.say_and_wait(0, "FCALL loop 1 key arg", PATIENCE);
    for line in [
        "GET a",
        "FUNCTION STATS",
        "FUNCTION LIST",
        "SHUTDOWN",
        "SCRIPT KILL",
        "FUNCTION KILL",
        "FUNCTION STATS",
        "FUNCTION KILL",
    ] {
        both.say(1, line);
    }
    both.end();
}

#[test]
fn a_script_cannot_catch_its_end() {
    let mut both = Both::start();
    for script in [
        "\\nwhile true do pcall(function() while true do end end) end",
        "while true do\\n  redis.pcall('get', 'x')\\nend",
    ] {
        both.say_and_wait(0, &format!("EVAL `{script}` 0"), PATIENCE);
        both.say(1, "PING");
        both.say(1, "SCRIPT KILL");
        both.say(1, "PING");
    }
    both.end();
}

#[test]
fn a_transaction_goes_on_after_its_script() {
    let mut both = Both::start();
    for line in ["MULTI", "SET a 1", "EVAL `while true do end` 0", "SET b 2"] {
        both.say(0, line);
    }
    both.say_and_wait(0, "EXEC", PATIENCE);
    both.say(1, "MGET a b");
    both.say(1, "SCRIPT KILL");
    both.say(1, "MGET a b");
    both.end();
}

#[test]
fn a_script_that_wrote_cannot_be_killed() {
    let mut both = Both::start();
    both.say_and_wait(
        0,
        "EVAL `redis.pcall('set', 'k', 'v') while true do end` 0",
        PATIENCE,
    );
    for line in ["SCRIPT KILL", "FUNCTION KILL", "GET k", "SHUTDOWN NOSAVE"] {
        both.say(1, line);
    }
    both.end();
}
