//! What the fake node does as its clock moves: expiry, which a comparison with a
//! real server could only check by waiting.

use locklab_sim::redis::{ConnId, Effect, Node, NodeConfig};

/// A client of a node whose clock the test moves.
struct Client {
    node: Node,
    conn: ConnId,
}

impl Client {
    fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        Client { node, conn }
    }

    /// Sends an inline command at a time in milliseconds; returns the raw reply.
    fn at(&mut self, now_ms: u64, command: &str) -> String {
        let mut effects = Vec::new();
        let line = format!("{command}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), now_ms * 1000, &mut effects);
        match &effects[..] {
            [Effect::Send { conn, bytes }] if *conn == self.conn => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[test]
fn a_key_expires_in_the_millisecond_after_its_time() {
    let mut client = Client::new();
    assert_eq!(client.at(1000, "SET k v PX 50"), "+OK\r\n");
    assert_eq!(client.at(1050, "GET k"), "$1\r\nv\r\n");
    assert_eq!(client.at(1051, "GET k"), "$-1\r\n");
}

#[test]
fn set_nx_finds_an_expired_key_absent() {
    let mut client = Client::new();
    assert_eq!(client.at(1000, "SET k v NX PX 50"), "+OK\r\n");
    assert_eq!(client.at(1050, "SET k w NX PX 50"), "$-1\r\n");
    assert_eq!(client.at(1051, "SET k w NX PX 50"), "+OK\r\n");
    assert_eq!(client.at(1051, "DEL k"), ":1\r\n");
}

#[test]
fn a_clock_that_steps_back_extends_a_key() {
    let mut client = Client::new();
    assert_eq!(client.at(1000, "SET k v PX 50"), "+OK\r\n");
    assert_eq!(client.at(500, "SET k w NX"), "$-1\r\n");
    assert_eq!(client.at(1049, "GET k"), "$1\r\nv\r\n");
}
