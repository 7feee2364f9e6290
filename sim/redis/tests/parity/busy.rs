//! Scripts that take too long: the replies to other clients, and the end of such a script.
//!
//! A real server is busy once it has replied BUSY to another client; the node is given enough
//! time to become busy.

use std::time::Duration;

use locklab_redis::{ConnId, Effect, Node};
use locklab_testing::{try_until, until};

use crate::data::{Request, cases, words};
use crate::real::{RealClient, RealServer};
use crate::versions;
use crate::wire::request;

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
        let mut node = Node::new(versions::node_config());
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
        let request = request(&words(line));
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
fn scripts_take_too_long() {
    if versions::skips_test() {
        return;
    }
    let mut section = String::new();
    let mut both = Both::start();
    for case in cases(include_str!("busy/scripts.txt")) {
        if section != case.section {
            section.clone_from(&case.section);
            std::mem::replace(&mut both, Both::start()).end();
        }
        for line in &case.lines {
            match line.strip_prefix("long ") {
                Some(line) => both.say_long(line),
                None => {
                    let request = Request::parse(line);
                    both.say(request.connection - 1, request.line);
                }
            }
        }
    }
    both.end();
}
