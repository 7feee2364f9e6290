//! Hostile bytes at a node: as its client, and as the master that it follows.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};
use locklab_testing::hostile;

/// Delivers bytes in pieces, as a socket does; returns what the node does then.
fn deliver(node: &mut Node, conn: ConnId, bytes: &[u8]) -> Vec<Effect> {
    let mut effects = Vec::new();
    for piece in bytes.chunks(64 << 10) {
        node.receive(conn, piece, 1_000_000, &mut effects);
    }
    effects
}

#[track_caller]
fn check_alive(node: &mut Node, name: &str) {
    let conn = node.accept();
    let effects = deliver(node, conn, b"PING\r\n");
    let bytes = "+PONG\r\n".into();
    assert!(effects.contains(&Effect::Send { conn, bytes }), "{name}");
}

#[test]
fn hostile_client_is_refused() {
    for (name, bytes) in hostile::resp() {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        let effects = deliver(&mut node, conn, &bytes);
        let sent: usize = effects.iter().map(|effect| sent(effect).len()).sum();
        assert!(sent < 1000, "{name}: {sent} bytes of replies");
        check_alive(&mut node, name);
    }
}

#[test]
fn hostile_master_is_refused() {
    for (name, bytes) in hostile::resp() {
        for (before, is_up) in [("", false), (SYNC, false), (DATA, true)] {
            let mut node = Node::new(NodeConfig::default());
            (node.configure("replicaof", "h 6379")).expect("the parameter exists");
            let link = connect(&mut node);
            deliver(&mut node, link, &master_says(before));
            let client = node.accept();
            let info = deliver(&mut node, client, b"INFO replication\r\n");
            let info = String::from_utf8_lossy(sent(&info[0]));
            assert_eq!(info.contains("master_link_status:up"), is_up, "{info}");
            deliver(&mut node, link, &bytes);
            check_alive(&mut node, name);
        }
    }
}

/// What a master says before its data.
const SYNC: &str = "+PONG,+OK,+OK,+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0,";

/// What a master says before its commands: an empty snapshot.
const DATA: &str =
    "+PONG,+OK,+OK,+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0,$18,REDIS0009\u{ff}";

/// The bytes of such a text: each comma ends a line, and the checksum of a snapshot is 0.
fn master_says(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for c in text.chars() {
        match c {
            ',' => bytes.extend(b"\r\n"),
            '\u{ff}' => bytes.extend([0xff, 0, 0, 0, 0, 0, 0, 0, 0]),
            c => bytes.push(c as u8),
        }
    }
    bytes
}

/// Lets a replica connect to its master.
fn connect(node: &mut Node) -> ConnId {
    let mut effects = Vec::new();
    node.wake(1_000_000, &mut effects);
    let link = effects.iter().find_map(|effect| match effect {
        Effect::Connect { conn, .. } => Some(*conn),
        _ => None,
    });
    let link = link.expect("it connects to its master");
    node.connected(link, 1_000_000, &mut effects);
    link
}

fn sent(effect: &Effect) -> &[u8] {
    match effect {
        Effect::Send { bytes, .. } => bytes,
        _ => &[],
    }
}
