//! A client of a node that waits for as long as a script may take.

use locklab_redis::resp::command;
use locklab_redis::{ConnId, Effect, Node, NodeConfig};

pub(super) struct Client {
    node: Node,
    conn: ConnId,
    now_us: u64,
}

impl Client {
    pub(super) fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        let now_us = 0;
        Client { node, conn, now_us }
    }

    /// Sends a request; returns the raw reply, which is empty if a script never ends.
    pub(super) fn send(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut effects = Vec::new();
        let (conn, request) = (self.conn, command(&words));
        self.node.receive(conn, &request, self.now_us, &mut effects);
        // Long enough for any script that ends.
        self.now_us += 10_000_000;
        self.node.wake(self.now_us, &mut effects);
        let sent = effects.iter().map(|effect| match effect {
            Effect::Send { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
            Effect::Disk(_) => String::new(),
            other => panic!("{other:?}"),
        });
        sent.collect()
    }

    pub(super) fn eval(&mut self, script: &str) -> String {
        self.send(&["EVAL", script, "0"])
    }
}

/// The script gets this reply, or, if that is no whole line, one that contains it; and the next
/// script runs as if nothing had been.
#[track_caller]
pub(super) fn check(script: &str, expected: &str) {
    let mut client = Client::new();
    let reply = client.eval(script);
    let is_text = !expected.ends_with('\n');
    let is_as_expected = reply == expected || is_text && reply.contains(expected);
    assert!(
        is_as_expected,
        "{script}\n{reply:.300}\ninstead of {expected}"
    );
    assert_eq!(client.eval("return 1"), ":1\r\n", "after {script}");
}
